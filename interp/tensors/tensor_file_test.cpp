#include "interp/tensors/tensor_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "interp/tensors/npy.h"
#include "spec/core/file.h"

namespace ulpian {
namespace {

namespace fs = std::filesystem;

class TensorFile : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ulpian_tensors_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{})); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

Tensor numbers(std::int64_t n) {
  Tensor t(ElementType::F32, {n});
  for (std::int64_t k = 0; k < n; ++k) t.writable<float>()[k] = static_cast<float>(k) / 8;
  return t;
}

TEST_F(TensorFile, BothFormatsComeBack) {
  const Tensor t = numbers(100);
  for (const char* name : {"t.npy", "t.pb"}) {
    ASSERT_TRUE(write_tensor(at(name), t, "x").ok());
    auto back = read_tensor(at(name), ElementType::F32);
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_TRUE(same_elements(*back, t));
    EXPECT_FALSE(read_tensor(at(name), ElementType::I32).ok());
  }
  EXPECT_EQ(files(), 2u);
  EXPECT_NE(to_string(read_tensor(at("t.txt")).error()).find(".npy or .pb is expected"), std::string::npos);
}

TEST_F(TensorFile, ErrorsNameTheFile) {
  const auto message = [](const Result<Tensor>& r) { return to_string(r.error()); };
  EXPECT_EQ(message(read_tensor(at("no.npy"))), "cannot open " + at("no.npy") + ": No such file or directory");
  EXPECT_EQ(message(read_tensor(at("no.pb"))), "cannot open " + at("no.pb") + ": No such file or directory");
  fs::create_directory(at("d.npy"));
  EXPECT_EQ(message(read_tensor(at("d.npy"))), "cannot read " + at("d.npy") + ": Is a directory");
  ASSERT_EQ(::mkfifo(at("f.npy").c_str(), 0600), 0);
  EXPECT_NE(message(read_tensor(at("f.npy"))).find("not a regular file"), std::string::npos);
  std::ofstream(at("e.pb"));
  EXPECT_NE(message(read_tensor(at("e.pb"))).find("empty"), std::string::npos);
  EXPECT_NE(to_string(write_tensor(at("no/t.npy"), numbers(1)).error()).find("cannot create " + at("no/t.npy")), std::string::npos);
}

// RLIMIT_FSIZE makes a write fail half way, as a full disk does.
TEST_F(TensorFile, AFailedWriteLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(write_tensor(at("t.npy"), numbers(10)).ok());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto over_old = write_tensor(at("t.npy"), numbers(100000));
  auto fresh = write_tensor(at("u.pb"), numbers(100000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(to_string(over_old.error()).find("cannot write " + at("t.npy")), std::string::npos);
  EXPECT_FALSE(fresh.ok());
  EXPECT_EQ(files(), 1u);
  auto back = read_tensor(at("t.npy"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->size(), 10);
}

// The signal ends the process in the middle of the write, as Ctrl-C may.
TEST_F(TensorFile, AProcessThatEndsWhileItWritesLeavesTheOldFileAndNothingElse) {
  const int unnamed = ::open(at(".").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "the file system of " << at(".") << " has no files without names";
  ::close(unnamed);
  ASSERT_TRUE(write_tensor(at("t.npy"), numbers(10)).ok());
  const auto end_in_the_middle = [&](const char* name) {
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit none{0, 0}, small{4096, 4096};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &small);
    (void)write_tensor(at(name), numbers(100000));
  };
  EXPECT_EXIT(end_in_the_middle("t.npy"), testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EXIT(end_in_the_middle("u.pb"), testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read_tensor(at("t.npy"))->size(), 10);
}

TEST_F(TensorFile, DevicesAreWrittenDirectlyAndLinksAreKept) {
  EXPECT_NE(to_string(write_file("/dev/full", std::string_view("abc")).error()).find("No space left"), std::string::npos);
  EXPECT_TRUE(write_file("/dev/null", std::string_view("abc")).ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_TRUE(write_tensor(at("real.npy"), numbers(1)).ok());
  fs::create_symlink("real.npy", at("link.npy"));
  ASSERT_TRUE(write_tensor(at("link.npy"), numbers(5)).ok());
  EXPECT_TRUE(fs::is_symlink(at("link.npy")));
  EXPECT_EQ(read_tensor(at("real.npy"))->size(), 5);
}

}  // namespace
}  // namespace ulpian
