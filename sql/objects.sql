-- What the extension is made of, and what PostgreSQL may assume about each function.
SELECT extversion, extrelocatable FROM pg_extension WHERE extname = 'snowflake';

SELECT p.oid::regprocedure AS function, pg_get_function_result(p.oid) AS result
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
WHERE e.extname = 'snowflake'
ORDER BY p.oid::regprocedure::text COLLATE "C";

SELECT p.oid::regprocedure AS function, provolatile AS volatile, proisstrict AS strict,
       proparallel AS parallel, procost AS cost, prorows AS rows, prosecdef AS definer
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid
WHERE e.extname = 'snowflake'
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- All functions, relations and casts and the type, each with its comment; none is without one.
SELECT pg_describe_object(classid, objid, 0) AS object,
       obj_description(objid, classid::regclass::name) AS comment
FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake')
  AND (classid IN ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_cast'::regclass)
       OR classid = 'pg_type'::regclass AND objid = 'snowflake'::regtype)
ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";

-- There is nothing else: no operator, no aggregate, no type but this one and the views' rows.
SELECT classid::regclass AS catalog, count(*)
FROM pg_depend
WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake')
  AND classid <> 'pg_type'::regclass
GROUP BY classid ORDER BY count(*);

SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context,
       castmethod AS method, castfunc::regprocedure AS function
FROM pg_cast WHERE 'snowflake'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";

SELECT typlen, typbyval, typalign, typstorage, typcategory, typispreferred, typarray::regtype AS array
FROM pg_type WHERE oid = 'snowflake'::regtype;

SELECT attname AS "column", format_type(atttypid, atttypmod) AS type
FROM pg_attribute
WHERE attrelid = 'pg_stat_snowflake'::regclass AND attnum > 0
ORDER BY attnum;

-- The arguments have names.
SELECT snowflake_machine(id => 0), snowflake_sequence(id => 1),
       snowflake_make(ts => snowflake_timestamp(id => 0), machine => 1, sequence => 2),
       (SELECT count(*) FROM snowflake_next(n => 3));
