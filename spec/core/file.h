// Whole files, read and written with the errors that a user can act on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spec/core/diagnostic.h"

namespace ulpian {

// Reads a regular file of at most `limit` bytes. A directory, a pipe or a device is refused: reading one may never end.
Result<std::vector<std::byte>> read_file(const std::string& file, std::uint64_t limit);

// Writes to a temporary file beside `file` and renames it, so that `file` holds all of `bytes` or what it held before, and nothing else is left
// behind (by a process that is ended meanwhile only where the file system has no files without names, or cannot give them one). A device or pipe (/dev/null, /dev/stdout) is written to directly.
Status write_file(const std::string& file, std::span<const std::byte> bytes);
Status write_file(const std::string& file, std::string_view text);

}  // namespace ulpian
