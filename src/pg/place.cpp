#include "src/border/postgres.hpp"

#include <sys/stat.h>

#include "src/pg/place.hpp"

namespace snowflake {

namespace {

// The file's first line, without its end.
void read_line(const char *path, char *line, Size size)
{
    FILE *file = fopen(path, "r");
    if (file == nullptr)
        return;
    if (fgets(line, static_cast<int>(size), file) == nullptr)
        line[0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    fclose(file);
}

} // namespace

Place place_here()
{
    Place place{};
    if (gethostname(place.host, sizeof(place.host) - 1) != 0)
        place.host[0] = '\0';
    read_line("/etc/machine-id", place.os_id, sizeof(place.os_id));

    const Size length = strlen(DataDir);
    const Size room = sizeof(place.directory) - 1;
    strlcpy(place.directory, DataDir + (length > room ? length - room : 0),
            sizeof(place.directory));
    struct stat status;
    if (stat(DataDir, &status) == 0) {
        place.device = status.st_dev;
        place.inode = status.st_ino;
    }
    return place;
}

bool is_copied(const Place &then, const Place &now)
{
    const bool same_name = strcmp(then.host, now.host) == 0;
    const bool same_id = then.os_id[0] != '\0' && strcmp(then.os_id, now.os_id) == 0;
    if (!same_name && !same_id)
        return true;
    return strcmp(then.directory, now.directory) != 0 && then.inode != now.inode;
}

} // namespace snowflake
