#include "spec/import/onnx/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "spec/import/onnx/names.h"

namespace ulpian::onnx_file {

namespace fs = std::filesystem;

struct ExternalData::OpenFile {
  int fd = -1;
  std::uint64_t size = 0;
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { if (fd >= 0) ::close(fd); }
};

ExternalData::ExternalData(std::string folder) : folder_(std::move(folder)) {}
ExternalData::~ExternalData() = default;

namespace {

Diagnostic refused(std::string_view location, std::string_view why) {
  Diagnostic d;
  d.message = fmt::format("external data {}: {}", shown(location), why);
  return d;
}

bool is_inside(const fs::path& folder, const fs::path& file) {
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

// The real path of the file, proven to lie inside the folder.
Result<std::string> confined(const std::string& folder, const std::string& location) {
  if (location.empty()) return refused(location, "no location is given");
  if (location.find('\0') != std::string::npos) return refused(location, "the location holds a zero byte");
  const fs::path relative(location);
  if (relative.is_absolute()) return refused(location, "an absolute path is refused; the file must lie in the model's folder");
  for (const fs::path& part : relative)
    if (part == "..") return refused(location, "a path with .. is refused; the file must lie in the model's folder");
  std::error_code error;
  const fs::path base = fs::canonical(folder, error);
  if (error) return refused(location, fmt::format("the model's folder {}: {}", folder, error.message()));
  const fs::path real = fs::canonical(base / relative, error);
  if (error) return refused(location, fmt::format("cannot open it: {}", error.message()));
  if (!is_inside(base, real)) return refused(location, "a symbolic link leads out of the model's folder");
  return real.string();
}

}  // namespace

Result<ExternalData::OpenFile*> ExternalData::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second.get();
  if (folder_.empty()) return refused(location, "a model given as bytes has no folder that could hold it");
  // One descriptor each; some exporters write a file per tensor.
  constexpr std::size_t MostOpen = 256;
  if (files_.size() >= MostOpen) files_.clear();
  auto path = confined(folder_, location);
  if (!path) return std::move(path).error();
  auto file = std::make_unique<OpenFile>();
  // The path is free of links now; O_NOFOLLOW keeps it so, O_NONBLOCK keeps a pipe from blocking.
  file->fd = ::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (file->fd < 0 || ::fstat(file->fd, &info) != 0) return refused(location, fmt::format("cannot open it: {}", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return refused(location, "it is not a regular file");
  file->size = static_cast<std::uint64_t>(info.st_size);
  OpenFile* raw = file.get();
  files_.emplace(location, std::move(file));
  return raw;
}

Status ExternalData::check(const std::string& location, std::uint64_t offset, std::uint64_t size) {
  auto file = open(location);
  if (!file) return std::move(file).error();
  const std::uint64_t there = (*file)->size;
  if (offset > there || size > there - offset)
    return refused(location, fmt::format("{} bytes from offset {} are asked; the file has {}", size, offset, there));
  return success();
}

Status ExternalData::read(const std::string& location, std::uint64_t offset, std::span<std::byte> out) {
  auto file = open(location);
  if (!file) return std::move(file).error();
  while (!out.empty()) {
    const ssize_t n = ::pread((*file)->fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return refused(location, n < 0 ? fmt::format("cannot read it: {}", std::strerror(errno)) : "it ends early");
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return success();
}

}  // namespace ulpian::onnx_file
