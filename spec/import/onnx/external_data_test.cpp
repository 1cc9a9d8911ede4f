#include "spec/import/onnx/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "spec/core/file.h"
#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

namespace fs = std::filesystem;

class ExternalFiles : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ulpian_external_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    outside_ = pattern;
    folder_ = outside_ + "/model";
    fs::create_directories(folder_ + "/sub");
    const std::string data("....\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 16);  // 1, 2, 3 from offset 4
    for (const char* place : {"/data", "/sub/data", "/../secret"}) ASSERT_TRUE(write_file(folder_ + place, std::string_view(data)).ok());
  }
  void TearDown() override { fs::remove_all(outside_); }

  Result<Graph> import(std::vector<std::pair<std::string, std::string>> entries, int code = 1, std::int64_t extent = 3) {
    auto m = small_model();
    auto& w = *m.mutable_graph()->mutable_initializer(0);
    w.Clear();
    w.set_name("w");
    w.set_data_type(code);
    w.add_dims(extent);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto* e = w.add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
    EXPECT_TRUE(write_file(folder_ + "/m.onnx", std::string_view(m.SerializeAsString())).ok());
    return import_onnx(folder_ + "/m.onnx");
  }
  std::string message(std::vector<std::pair<std::string, std::string>> entries, int code = 1, std::int64_t extent = 3) {
    auto r = import(std::move(entries), code, extent);
    return r ? "" : r.error().message;
  }

  std::string outside_;
  std::string folder_;
};

TEST_F(ExternalFiles, AreReadFromTheModelsFolder) {
  for (const char* place : {"data", "sub/data", "./data"}) {
    for (const bool with_length : {false, true}) {
      std::vector<std::pair<std::string, std::string>> entries{{"location", place}, {"offset", "4"}, {"checksum", "x"}};
      if (with_length) entries.emplace_back("length", "12");
      auto r = import(entries);
      ASSERT_TRUE(r.ok()) << to_string(r.error());
      for (int k = 0; k < 3; ++k) EXPECT_EQ(r->constants[0].second.data<float>()[k], static_cast<float>(k + 1));
    }
  }
  auto packed = import({{"location", "data"}, {"offset", "14"}}, 21, 3);  // bytes 0x40 0x40
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->constants[0].second.at(1), 4u);
  EXPECT_EQ(packed->constants[0].second.at(2), 0u);
  fs::create_symlink("data", folder_ + "/inner_link");
  EXPECT_EQ(message({{"location", "inner_link"}, {"offset", "4"}}), "");
}

TEST_F(ExternalFiles, CannotLeadOutOfTheFolder) {
  EXPECT_EQ(message({{"location", outside_ + "/secret"}}).find("initializer \"w\": external data \"" + outside_), 0u);
  EXPECT_NE(message({{"location", folder_ + "/data"}}).find("an absolute path is refused"), std::string::npos);
  EXPECT_NE(message({{"location", "../secret"}}).find("a path with .. is refused"), std::string::npos);
  EXPECT_NE(message({{"location", "sub/../data"}}).find("a path with .. is refused"), std::string::npos);
  fs::create_symlink(outside_ + "/secret", folder_ + "/link");
  fs::create_directory_symlink(outside_, folder_ + "/folder_link");
  EXPECT_NE(message({{"location", "link"}}).find("a symbolic link leads out"), std::string::npos);
  EXPECT_NE(message({{"location", "folder_link/secret"}}).find("a symbolic link leads out"), std::string::npos);
  EXPECT_NE(message({{"location", std::string("data\0x", 6)}}).find("zero byte"), std::string::npos);
}

TEST_F(ExternalFiles, AreCheckedBeforeTheyAreRead) {
  EXPECT_NE(message({{"location", "data"}, {"offset", "5"}}).find("12 bytes from offset 5 are asked; the file has 16"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}, {"offset", "9223372036854775807"}}).find("the file has 16"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}, {"length", "16"}}).find("external data has 16 bytes; [3] elements f32 take 12"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}, {"offset", "-4"}}).find("offset is \"-4\"; it must be a number of bytes"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}, {"offset", "4x"}}).find("must be a number of bytes"), std::string::npos);
  EXPECT_NE(message({{"location", "none"}}).find("cannot open it: No such file"), std::string::npos);
  EXPECT_NE(message({{"location", "sub"}}).find("not a regular file"), std::string::npos);
  EXPECT_NE(message({}).find("no location is given"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}}, 1, std::int64_t{1} << 31).find("8589934592 bytes from offset 0 are asked"), std::string::npos);
  EXPECT_NE(message({{"location", "data"}}, 8).find("strings cannot stand in external data"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(message({{"location", "pipe"}}).find("not a regular file"), std::string::npos);
}

TEST_F(ExternalFiles, AModelGivenAsBytesNeedsAFolder) {
  auto first = import({{"location", "data"}, {"offset", "4"}});
  ASSERT_TRUE(first.ok());
  auto bytes = read_file(folder_ + "/m.onnx", 1 << 20);
  EXPECT_NE(to_string(import_onnx(std::span<const std::byte>(*bytes)).error()).find("a model given as bytes has no folder"), std::string::npos);
  OnnxImportOptions options;
  options.folder = folder_;
  EXPECT_TRUE(import_onnx(std::span<const std::byte>(*bytes), options).ok());
}

}  // namespace
}  // namespace ulpian::onnx_file
