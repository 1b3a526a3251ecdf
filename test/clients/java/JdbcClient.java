// JDBC: PostgreSQL's own driver

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;

public class JdbcClient {
    static final long EPOCH_MS = 1735689600000L; // the default snowflake.epoch

    final Connection connection;

    JdbcClient(Connection connection) {
        this.connection = connection;
    }

    // doc:begin jdbc-table
    void createTable() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE jdbc_event ("
                            + " id bigint PRIMARY KEY DEFAULT snowflake_next(),"
                            + " payload text NOT NULL)");
        }
    }
    // doc:end

    // doc:begin jdbc-insert
    List<Long> insert(List<String> payloads) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "INSERT INTO jdbc_event (payload) VALUES (?)", new String[] {"id"})) {
            for (String payload : payloads) {
                statement.setString(1, payload);
                statement.addBatch();
            }
            statement.executeBatch();
            try (ResultSet keys = statement.getGeneratedKeys()) {
                while (keys.next()) {
                    ids.add(keys.getLong(1)); // a long holds every id
                }
            }
        }
        return ids;
    }

    Instant createdAt(long id) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("SELECT snowflake_timestamp(?)")) {
            statement.setLong(1, id);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getObject(1, OffsetDateTime.class).toInstant();
            }
        }
    }
    // doc:end

    // doc:begin jdbc-pages
    List<Long> pageAfter(long id, int size) throws SQLException {
        return page("SELECT id FROM jdbc_event WHERE id > ? ORDER BY id LIMIT ?", id, size);
    }

    List<Long> pageBefore(long id, int size) throws SQLException {
        List<Long> ids =
                page("SELECT id FROM jdbc_event WHERE id < ? ORDER BY id DESC LIMIT ?", id, size);
        Collections.reverse(ids);
        return ids;
    }

    private List<Long> page(String query, long id, int size) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setLong(1, id);
            statement.setInt(2, size);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    ids.add(rows.getLong("id"));
                }
            }
        }
        return ids;
    }
    // doc:end

    static boolean failed = false;

    static void check(String what, boolean good) {
        failed |= !good;
        System.out.println((good ? "ok - " : "not ok - ") + what);
    }

    // A query's first column, as the server writes it.
    List<String> texts(String query) throws SQLException {
        List<String> texts = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                texts.add(rows.getString(1));
            }
        }
        return texts;
    }

    void checkInserted(String how, List<String> payloads) throws SQLException {
        List<Long> ids = insert(payloads);
        List<String> found = new ArrayList<>();
        for (int i = 0; i < ids.size(); i++) {
            found.add(ids.get(i) + " " + payloads.get(i));
        }
        check(how + ": ids are above 2^53", ids.stream().allMatch(id -> id > 1L << 53));
        check(
                how + ": each row has an id of its own, and they ascend",
                ids.size() == payloads.size() && new ArrayList<>(new TreeSet<>(ids)).equals(ids));
        check(
                how + ": ids are those in the table, to the last bit",
                texts("SELECT concat(id::text, ' ', payload) FROM jdbc_event WHERE id >= "
                                + ids.get(0) + " ORDER BY id").equals(found));
        check(
                how + ": the time of an id is that in its bits",
                createdAt(ids.get(0)).toEpochMilli() == (ids.get(0) >> 22) + EPOCH_MS);
    }

    void checkPages() throws SQLException {
        List<Long> expected = new ArrayList<>();
        for (String id : texts("SELECT id::text FROM jdbc_event ORDER BY id")) {
            expected.add(Long.valueOf(id));
        }
        List<Long> forwards = new ArrayList<>();
        List<Long> page = pageAfter(0, 50);
        int pages = 0;
        for (; !page.isEmpty(); pages++) {
            forwards.addAll(page);
            page = pageAfter(page.get(page.size() - 1), 50);
        }
        check("pages forwards: each row once, in order", forwards.equals(expected) && pages > 2);
        List<Long> backwards = new ArrayList<>();
        page = pageBefore(Long.MAX_VALUE, 50);
        while (!page.isEmpty()) {
            backwards.addAll(0, page);
            page = pageBefore(page.get(0), 50);
        }
        check("pages backwards: each row once, in order", backwards.equals(expected));
    }

    public static void main(String[] arguments) throws SQLException {
        String url =
                String.format(
                        "jdbc:postgresql://%s:%s/%s?user=%s",
                        System.getenv("PGHOST"), System.getenv("PGPORT"),
                        System.getenv("PGDATABASE"), System.getenv("PGUSER"));
        try (Connection connection = DriverManager.getConnection(url)) {
            System.out.println(
                    "# version: PostgreSQL JDBC "
                            + connection.getMetaData().getDriverVersion()
                            + ", Java " + Runtime.version().feature());
            JdbcClient client = new JdbcClient(connection);
            client.createTable();
            client.checkInserted("one row", List.of("first"));
            List<String> payloads = new ArrayList<>();
            for (int i = 0; i < 150; i++) {
                payloads.add("row " + i);
            }
            client.checkInserted("a batch", payloads);
            client.checkPages();
        }
        System.exit(failed ? 1 : 0);
    }
}
