// snowflake_within(), exactly as snowflake_timestamp(id) <@ times, and how the planner gets rid of
// it: it becomes
//
//     id >= snowflake_first(times) AND id <= snowflake_last(times)
//
// (or the same with from, to in place of times), so that PostgreSQL sees what it knows from any
// bigint column, and uses indexes, partitions and statistics. Constants are computed at planning,
// anything else when the plan runs.
//
// The operators are these two, and no others: the lower bound of a partition is an id, and "id >
// the one before" would not tell the planner that the partition before has none.
#include "src/border/postgres.hpp"

#include "src/id/within.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

// --- Answers ----------------------------------------------------------------------------------

// The epoch in milliseconds of PostgreSQL's count, which begins with 2000.
int64 epoch_postgres_ms() { return epoch_unix_ms() - postgres_epoch_unix_ms; }

// A bound of a tstzrange. Infinite timestamps are the smallest and the largest number, and compare
// as such.
Moment moment_of(const RangeBound &bound)
{
    if (bound.infinite)
        return {bound.lower ? INT64_MIN : INT64_MAX, true};
    return {DatumGetTimestampTz(bound.val), bound.inclusive};
}

// The ids of the argument `times`, or of the arguments `from` and `to`, which begin at `first`.
IdSpan span_argument(FunctionCallInfo fcinfo, int first)
{
    require_preload();
    RangeType *times = PG_GETARG_RANGE_P(first);
    RangeBound lower;
    RangeBound upper;
    bool empty;
    range_deserialize(range_get_typcache(fcinfo, RangeTypeGetOid(times)), times, &lower, &upper,
                      &empty);
    return empty ? no_ids : ids_within(moment_of(lower), moment_of(upper), epoch_postgres_ms());
}

IdSpan span_arguments(FunctionCallInfo fcinfo, int first)
{
    require_preload();
    Moment from = {INT64_MIN, true};
    Moment to = {INT64_MAX, true};
    if (!PG_ARGISNULL(first))
        from = {PG_GETARG_TIMESTAMPTZ(first), true};
    if (!PG_ARGISNULL(first + 1))
        to = {PG_GETARG_TIMESTAMPTZ(first + 1), false};
    return ids_within(from, to, epoch_postgres_ms());
}

// --- Planning ---------------------------------------------------------------------------------

// Operators of pg_catalog on bigint. PostgreSQL has no names for them, but the numbers never
// change.
constexpr Oid int8_less_equal = 414;
constexpr Oid int8_greater_equal = 415;

// More work than this is not done twice: the measure by which PostgreSQL inlines SQL functions.
constexpr double most_operators = 10;

// copyObject() is not for C++.
template <typename T> T *copy(const T *node) { return static_cast<T *>(copyObjectImpl(node)); }

bool is_cheap(Node *expression)
{
    QualCost cost;
    cost_qual_eval(&cost, list_make1(expression), nullptr);
    return cost.startup + cost.per_tuple <= most_operators * cpu_operator_cost;
}

// May an argument be computed twice, and answer the same? A subquery need not: "LIMIT 1", say. A
// bound that is the same for all rows may take long: an index computes it once for all of them, and
// without an index it is twice the time at most.
bool may_be_repeated(Node *argument, bool is_bound)
{
    return !contain_volatile_functions(argument) && !contain_subplans(argument) &&
           ((is_bound && !contain_var_clause(argument)) || is_cheap(argument));
}

bool may_be_repeated(List *arguments)
{
    for (int i = 0; i < list_length(arguments); i++)
        if (!may_be_repeated(static_cast<Node *>(list_nth(arguments, i)), i > 0))
            return false;
    return true;
}

bool are_constant(List *arguments)
{
    for (int i = 0; i < list_length(arguments); i++)
        if (!IsA(list_nth(arguments, i), Const))
            return false;
    return true;
}

// The function of this name for these arguments that stands beside snowflake_within: in the same
// schema, into which CREATE EXTENSION put both. InvalidOid if somebody has moved them apart, or if
// it may not be called.
Oid function_beside(Oid within, const char *name, List *arguments)
{
    Oid types[FUNC_MAX_ARGS];
    for (int i = 0; i < list_length(arguments); i++)
        types[i] = exprType(static_cast<Node *>(list_nth(arguments, i)));
    const Oid function =
        GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
                        PointerGetDatum(buildoidvector(types, list_length(arguments))),
                        ObjectIdGetDatum(get_func_namespace(within)));
    return OidIsValid(function) && may_call(function) ? function : InvalidOid;
}

// "id op function(arguments)", computed as far as it is constant.
Expr *compare(PlannerInfo *root, Node *id, Oid op, Oid function, List *arguments)
{
    Expr *bound = reinterpret_cast<Expr *>(makeFuncExpr(
        function, INT8OID, copy(arguments), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
    if (are_constant(arguments))
        bound =
            reinterpret_cast<Expr *>(eval_const_expressions(root, reinterpret_cast<Node *>(bound)));
    Expr *comparison = make_opclause(op, BOOLOID, false, reinterpret_cast<Expr *>(copy(id)), bound,
                                     InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(comparison));
    return comparison;
}

// True for "id <= the largest bigint", which tells nothing.
bool is_open(Expr *comparison)
{
    const auto *bound = reinterpret_cast<Const *>(get_rightop(comparison));
    return IsA(bound, Const) && DatumGetInt64(bound->constvalue) == max_id;
}

// The one or two comparisons that say the same as a call of snowflake_within; none if there are no
// functions to say it with, or the user may not call all of them: the right to call
// snowflake_within is what counts, as it is where PostgreSQL inlines a function. (There always is a
// lower bound: a negative number is no id.)
List *comparisons(PlannerInfo *root, const FuncExpr *call)
{
    if (!may_call(call->funcid))
        return NIL;
    auto *id = static_cast<Node *>(linitial(call->args));
    List *bounds = list_copy_tail(call->args, 1);
    const Oid first = function_beside(call->funcid, "snowflake_first", bounds);
    const Oid last = function_beside(call->funcid, "snowflake_last", bounds);
    if (!OidIsValid(first) || !OidIsValid(last))
        return NIL;
    Expr *from = compare(root, id, int8_greater_equal, first, bounds);
    Expr *to = compare(root, id, int8_less_equal, last, bounds);
    return is_open(to) ? list_make1(from) : list_make2(from, to);
}

// Before all other planning: the comparisons in place of the call.
Node *simplify(const SupportRequestSimplify *request)
{
    if (!may_be_repeated(request->fcall->args))
        return nullptr;
    List *both = comparisons(request->root, request->fcall);
    if (both == NIL)
        return nullptr;
    // The plan is made again when the function is replaced, although it is not in the plan.
    if (request->root != nullptr)
        record_plan_function_dependency(request->root, request->fcall->funcid);
    return static_cast<Node *>(list_length(both) == 1 ? linitial(both)
                                                      : static_cast<void *>(make_andclause(both)));
}

// For a call that stayed, because of a subquery or a costly argument: the comparisons as a
// condition of an index on the id. A subquery has become a parameter by now, which may well be
// repeated.
List *index_condition(SupportRequestIndexCondition *request)
{
    if (request->indexarg != 0 || !IsA(request->node, FuncExpr) ||
        !op_in_opfamily(int8_greater_equal, request->opfamily))
        return NIL;
    const auto *call = reinterpret_cast<FuncExpr *>(request->node);
    for (int i = 1; i < list_length(call->args); i++) {
        auto *bound = static_cast<Node *>(list_nth(call->args, i));
        if (contain_subplans(bound) ||
            !is_pseudo_constant_for_index(request->root, bound, request->index))
            return NIL;
    }
    request->lossy = false;
    return comparisons(request->root, call);
}

} // namespace

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_first);
PG_FUNCTION_INFO_V1(snowflake_first_from_to);
PG_FUNCTION_INFO_V1(snowflake_last);
PG_FUNCTION_INFO_V1(snowflake_last_from_to);
PG_FUNCTION_INFO_V1(snowflake_within);
PG_FUNCTION_INFO_V1(snowflake_within_from_to);
PG_FUNCTION_INFO_V1(snowflake_within_support);

// snowflake_first(times tstzrange) returns bigint
PGDLLEXPORT Datum snowflake_first(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT64(snowflake::span_argument(fcinfo, 0).first);
}

// snowflake_first(from timestamptz, to timestamptz) returns bigint; not strict
PGDLLEXPORT Datum snowflake_first_from_to(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT64(snowflake::span_arguments(fcinfo, 0).first);
}

// snowflake_last(times tstzrange) returns bigint
PGDLLEXPORT Datum snowflake_last(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT64(snowflake::span_argument(fcinfo, 0).last);
}

// snowflake_last(from timestamptz, to timestamptz) returns bigint; not strict
PGDLLEXPORT Datum snowflake_last_from_to(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT64(snowflake::span_arguments(fcinfo, 0).last);
}

// snowflake_within(id bigint, times tstzrange) returns boolean
PGDLLEXPORT Datum snowflake_within(PG_FUNCTION_ARGS)
{
    PG_RETURN_BOOL(snowflake::span_argument(fcinfo, 1).contains(PG_GETARG_INT64(0)));
}

// snowflake_within(id bigint, from timestamptz, to timestamptz) returns boolean; not strict
PGDLLEXPORT Datum snowflake_within_from_to(PG_FUNCTION_ARGS)
{
    if (PG_ARGISNULL(0))
        PG_RETURN_NULL();
    PG_RETURN_BOOL(snowflake::span_arguments(fcinfo, 1).contains(PG_GETARG_INT64(0)));
}

// snowflake_within_support(internal) returns internal: what the planner asks about snowflake_within
PGDLLEXPORT Datum snowflake_within_support(PG_FUNCTION_ARGS)
{
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    void *answer = nullptr;
    if (IsA(request, SupportRequestSimplify))
        answer = snowflake::simplify(reinterpret_cast<SupportRequestSimplify *>(request));
    else if (IsA(request, SupportRequestIndexCondition))
        answer =
            snowflake::index_condition(reinterpret_cast<SupportRequestIndexCondition *>(request));
    PG_RETURN_POINTER(answer);
}
}
