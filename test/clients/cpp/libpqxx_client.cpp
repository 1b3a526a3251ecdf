// libpqxx

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <pqxx/pqxx>
#include <string>
#include <vector>

namespace {

// doc:begin libpqxx-insert
void create_table(pqxx::connection &connection)
{
    pqxx::work transaction(connection);
    transaction.exec("CREATE TABLE pqxx_event ("
                     " id bigint PRIMARY KEY DEFAULT snowflake_next(),"
                     " payload text NOT NULL)");
    transaction.commit();
}

std::int64_t insert(pqxx::connection &connection, const std::string &payload)
{
    pqxx::work transaction(connection);
    const pqxx::result rows = transaction.exec_params(
        "INSERT INTO pqxx_event (payload) VALUES ($1) RETURNING id", payload);
    transaction.commit();
    return rows[0][0].as<std::int64_t>(); // holds every id
}

// Ids can be drawn ahead, many at once, before their rows are inserted.
std::vector<std::int64_t> insert_many(pqxx::connection &connection,
                                      const std::vector<std::string> &payloads)
{
    pqxx::work transaction(connection);
    std::vector<std::int64_t> ids;
    for (const auto &row : transaction.exec_params("SELECT snowflake_next($1)", payloads.size())) {
        ids.push_back(row[0].as<std::int64_t>());
    }
    for (std::size_t i = 0; i < ids.size(); i++) {
        transaction.exec_params("INSERT INTO pqxx_event VALUES ($1, $2)", ids[i], payloads[i]);
    }
    transaction.commit();
    return ids;
}
// doc:end

// doc:begin libpqxx-pages
std::vector<std::int64_t> page(pqxx::connection &connection, const std::string &query,
                               std::int64_t id, int size)
{
    pqxx::read_transaction transaction(connection);
    std::vector<std::int64_t> ids;
    for (const auto &row : transaction.exec_params(query, id, size)) {
        ids.push_back(row["id"].as<std::int64_t>());
    }
    return ids;
}

std::vector<std::int64_t> page_after(pqxx::connection &connection, std::int64_t id, int size)
{
    return page(connection, "SELECT id FROM pqxx_event WHERE id > $1 ORDER BY id LIMIT $2", id,
                size);
}

std::vector<std::int64_t> page_before(pqxx::connection &connection, std::int64_t id, int size)
{
    auto ids = page(connection, "SELECT id FROM pqxx_event WHERE id < $1 ORDER BY id DESC LIMIT $2",
                    id, size);
    std::reverse(ids.begin(), ids.end());
    return ids;
}
// doc:end

// doc:begin libpqxx-time
// The default snowflake.epoch is 2025-01-01 00:00:00+00.
std::chrono::system_clock::time_point created_at(std::int64_t id)
{
    return std::chrono::system_clock::time_point(
        std::chrono::milliseconds((id >> 22) + 1'735'689'600'000));
}
// doc:end

bool failed = false;

void check(const std::string &what, bool good)
{
    failed |= !good;
    std::cout << (good ? "ok - " : "not ok - ") << what << std::endl;
}

// A query's first column, as the server writes it.
std::vector<std::string> texts(pqxx::connection &connection, const std::string &query)
{
    pqxx::read_transaction transaction(connection);
    std::vector<std::string> found;
    for (const auto &row : transaction.exec(query)) {
        found.emplace_back(row[0].c_str());
    }
    return found;
}

void check_ids(pqxx::connection &connection, const std::vector<std::int64_t> &ids,
               const std::vector<std::string> &payloads)
{
    check("ids are above 2^53", std::all_of(ids.begin(), ids.end(), [](std::int64_t id) {
              return id > std::int64_t{1} << 53;
          }));
    check("each row has an id of its own, and they ascend",
          std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end());
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < ids.size() && i < payloads.size(); i++) {
        rows.push_back(std::to_string(ids[i]) + " " + payloads[i]);
    }
    check("ids are those in the table, to the last bit",
          texts(connection, "SELECT concat(id::text, ' ', payload) FROM pqxx_event ORDER BY id") ==
              rows);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        created_at(ids[0]).time_since_epoch());
    check("the time of an id is that in its bits",
          texts(connection, "SELECT (1000 * extract(epoch FROM snowflake_timestamp(" +
                                std::to_string(ids[0]) + ")))::bigint")[0] ==
              std::to_string(ms.count()));
}

void check_pages(pqxx::connection &connection, const std::vector<std::int64_t> &expected)
{
    std::vector<std::int64_t> forwards;
    int pages = 0;
    for (auto ids = page_after(connection, 0, 50); !ids.empty();
         ids = page_after(connection, ids.back(), 50), pages++) {
        forwards.insert(forwards.end(), ids.begin(), ids.end());
    }
    check("pages forwards: each row once, in order", forwards == expected && pages > 2);
    std::vector<std::int64_t> backwards;
    for (auto ids = page_before(connection, std::numeric_limits<std::int64_t>::max(), 50);
         !ids.empty(); ids = page_before(connection, ids.front(), 50)) {
        backwards.insert(backwards.begin(), ids.begin(), ids.end());
    }
    check("pages backwards: each row once, in order", backwards == expected);
}

} // namespace

int main()
{
    std::cout << "# version: libpqxx " << PQXX_VERSION << std::endl;
    pqxx::connection connection(""); // PGHOST, PGDATABASE, …
    create_table(connection);
    std::vector<std::string> payloads;
    for (int i = 0; i < 150; i++) {
        payloads.push_back("row " + std::to_string(i));
    }
    std::vector<std::int64_t> ids{insert(connection, "first")};
    const auto many = insert_many(connection, payloads);
    ids.insert(ids.end(), many.begin(), many.end());
    payloads.insert(payloads.begin(), "first");
    check_ids(connection, ids, payloads);
    check_pages(connection, ids);
    return failed ? 1 : 0;
}
