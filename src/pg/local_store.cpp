#include "src/border/postgres.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/pg/local_store.hpp"

namespace snowflake {

namespace {

constexpr const char *new_directory = "pg_snowflake.new";

StoreProblem problem(const char *doing, const char *path)
{
    const int error = errno;
    StoreProblem result;
    snprintf(result.text, sizeof(result.text), "could not %s \"%s\": %s", doing, path,
             strerror(error));
    return result;
}

const char *explain(StateError error)
{
    switch (error) {
    case StateError::none:
        break;
    case StateError::truncated:
        return "Its size is not what it should be.";
    case StateError::not_a_state:
        return "It does not begin as such a file does.";
    case StateError::version:
        return "It is of a version that this library does not know.";
    case StateError::checksum:
        return "Its checksum does not fit its contents.";
    case StateError::contents:
        return "It says what cannot be.";
    }
    return "";
}

[[noreturn]] void refuse_unreadable(const StoreProblem &failed)
{
    ereport(ERROR, errcode(ERRCODE_IO_ERROR), errmsg("%s", failed.text),
            errdetail("The file holds the time up to which ids have been issued."),
            errhint("Let the user that runs the server read and write it. Do not remove it."));
    pg_unreachable();
}

[[noreturn]] void refuse_damaged(const char *message, const char *detail)
{
    ereport(
        ERROR, errcode(ERRCODE_DATA_CORRUPTED), errmsg("%s", message), errdetail("%s", detail),
        errhint("The file holds the time up to which ids have been issued. Restore it from a copy "
                "that is not older than the last id, or remove the directory \"%s\" when the "
                "clock is certain to be past the last id.",
                state_directory));
    pg_unreachable();
}

// All of the file, at most `room` bytes of it; -1 and errno on failure.
ssize_t read_all(int file, unsigned char *bytes, Size room)
{
    Size size = 0;
    while (size < room) {
        const ssize_t got = read(file, bytes + size, room - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        size += static_cast<Size>(got);
    }
    return static_cast<ssize_t>(size);
}

bool write_all(int file, const unsigned char *bytes, Size size)
{
    while (size > 0) {
        errno = 0;
        const ssize_t put = write(file, bytes, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            if (errno == 0)
                errno = ENOSPC; // as PostgreSQL does where write() says nothing
            return false;
        }
        bytes += put;
        size -= static_cast<Size>(put);
    }
    return true;
}

StoreProblem sync_directory(const char *path)
{
    const int directory = BasicOpenFile(path, O_RDONLY);
    if (directory < 0)
        return problem("open directory", path);
    StoreProblem result{};
    if (pg_fsync(directory) != 0)
        result = problem("sync directory", path);
    close(directory);
    return result;
}

StoreProblem write_file(const char *path, const unsigned char *bytes, Size size)
{
    // A file of its own each time: what a failed sync has left in an old one must not count.
    (void) unlink(path);
    const int file = BasicOpenFile(path, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
    if (file < 0)
        return problem("create file", path);
    StoreProblem result{};
    if (!write_all(file, bytes, size))
        result = problem("write file", path);
    else if (pg_fsync(file) != 0)
        result = problem("sync file", path);
    if (close(file) != 0 && !result.happened())
        result = problem("close file", path);
    return result;
}

// Puts a file of this name in place of the old one, durably.
StoreProblem replace(const char *from, const char *to, const char *directory)
{
    if (rename(from, to) != 0)
        return problem("rename to", to);
    return sync_directory(directory);
}

// The first write: the directory appears with the file in it, or not at all.
StoreProblem write_first(const unsigned char *bytes, Size size)
{
    char path[MAXPGPATH];
    snprintf(path, sizeof(path), "%s/state", new_directory);
    if (MakePGDirectory(new_directory) != 0 && errno != EEXIST)
        return problem("create directory", new_directory);
    StoreProblem result = write_file(path, bytes, size);
    if (!result.happened())
        result = sync_directory(new_directory);
    if (!result.happened())
        result = replace(new_directory, state_directory, ".");
    return result;
}

} // namespace

State *allocate_state() { return static_cast<State *>(palloc0(sizeof(State))); }

bool read_state(State *state)
{
    struct stat status;
    memset(state, 0, sizeof(*state));
    if (stat(state_directory, &status) != 0 && errno == ENOENT)
        return false;

    const int file = BasicOpenFile(state_file, O_RDONLY | PG_BINARY);
    if (file < 0) {
        const bool is_missing = errno == ENOENT;
        const StoreProblem failed = problem("open file", state_file);
        if (is_missing)
            refuse_damaged(failed.text, "The directory is there, but not the file in it.");
        refuse_unreadable(failed);
    }
    unsigned char *bytes = static_cast<unsigned char *>(palloc(max_state_size + 1));
    const ssize_t size = read_all(file, bytes, max_state_size + 1);
    const StoreProblem failed = size < 0 ? problem("read file", state_file) : StoreProblem{};
    close(file);
    if (failed.happened())
        refuse_unreadable(failed);
    const StateError error = decode_state(bytes, static_cast<Size>(size), *state);
    pfree(bytes);
    if (error != StateError::none) {
        char message[128];
        snprintf(message, sizeof(message), "file \"%s\" is damaged", state_file);
        refuse_damaged(message, explain(error));
    }
    return true;
}

StoreProblem write_state(const State *state)
{
    char path[MAXPGPATH];
    snprintf(path, sizeof(path), "%s.new", state_file);
    unsigned char *bytes = static_cast<unsigned char *>(palloc(max_state_size));
    const Size size = encode_state(*state, bytes);
    struct stat status;
    StoreProblem result{};
    if (stat(state_directory, &status) != 0 && errno == ENOENT) {
        result = write_first(bytes, size);
    } else {
        result = write_file(path, bytes, size);
        if (!result.happened())
            result = replace(path, state_file, state_directory);
    }
    pfree(bytes);
    return result;
}

} // namespace snowflake
