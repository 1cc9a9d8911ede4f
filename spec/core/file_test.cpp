#include "spec/core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ulpian {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ulpian_file_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{})); }
  // Read by other means than the code under test.
  std::string content(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder_;
};

// What a file system may lack. The kernel is made to answer this process as such a file system does.
enum class Lacks { Nothing, UnnamedFiles, NamingThem };

// False where a process may not filter its own calls.
bool refuse_calls(Lacks lacks) {
  if (lacks == Lacks::Nothing) return true;
  const auto answer = [](int error) -> sock_filter { return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)); };
  const auto load = [](std::size_t offset) -> sock_filter { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); };
  constexpr unsigned Unnamed = O_TMPFILE & ~O_DIRECTORY;
  sock_filter unnamed[] = {load(offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3), load(offsetof(seccomp_data, args[2])),
                           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, Unnamed, 0, 1), answer(EOPNOTSUPP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_filter naming[] = {load(offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1), answer(EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = lacks == Lacks::UnnamedFiles ? sock_fprog{std::size(unnamed), unnamed} : sock_fprog{std::size(naming), naming};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// In a process of its own, for the refusals last: 0 done, 1 not written, 77 the kernel takes no filter, 2 it did not do what it was told.
[[noreturn]] void write_where(Lacks lacks, const std::string& folder, const std::string& text) {
  if (!refuse_calls(lacks)) ::_exit(77);
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (lacks == Lacks::UnnamedFiles && fd >= 0) ::_exit(2);
  if (lacks == Lacks::NamingThem && fd >= 0 && ::linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD, (folder + "/x").c_str(), AT_SYMLINK_FOLLOW) == 0) ::_exit(2);
  if (fd >= 0) ::close(fd);
  for (const char* name : {"/old", "/new"}) {
    const Status s = write_file(folder + name, text);
    if (!s) ::_exit((::dprintf(2, "%s\n", to_string(s.error()).c_str()), 1));
  }
  ::_exit(0);
}

TEST_F(File, IsWrittenWholeWhateverTheFileSystemHas) {
  for (const Lacks lacks : {Lacks::Nothing, Lacks::UnnamedFiles, Lacks::NamingThem}) {
    std::ofstream(at("old")) << "what was there";
    ASSERT_EQ(::chmod(at("old").c_str(), 0640), 0);
    fs::remove(at("new"));
    const std::string text = "kind " + std::to_string(static_cast<int>(lacks)) + std::string(100000, 'x');
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_where(lacks, folder_, text);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "the kernel lets no process filter its own calls";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "lacks " << static_cast<int>(lacks) << ", status " << status;
    EXPECT_EQ(content("old"), text);
    EXPECT_EQ(content("new"), text);
    EXPECT_EQ(files(), 2u) << "a temporary file is left";
    struct stat info {};
    ASSERT_EQ(::stat(at("old").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640u);
  }
}

}  // namespace
}  // namespace ulpian
