#include "weft/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft {
namespace {

using nlohmann::json;

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

json entry(const char* dtype, json shape, std::uint64_t begin, std::uint64_t end) {
  return {{"dtype", dtype}, {"shape", std::move(shape)}, {"data_offsets", {begin, end}}};
}

SafeTensors parse(const std::string& bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  return SafeTensors::parse(std::as_bytes(std::span(*owner)), owner, "f");
}

std::string_view text_of(const TensorData& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

TEST(SafeTensors, ReadsTensorsAndMetadata) {
  const json header = {{"__metadata__", {{"format", "pt"}}},
                       {"w", entry("F32", {2, 1}, 0, 8)},
                       {"scalar", entry("I64", json::array(), 8, 16)},
                       {"none", entry("BF16", {3, 0, 5}, 16, 16)},
                       {"é", entry("U8", {3}, 16, 19)}};
  const auto file = parse(file_of(header.dump() + "   ", "abcdefgh12345678xyz"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"none", "scalar", "w", "é"}));
  EXPECT_EQ(file.size(), 4u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_TRUE(file.contains("w"));
  EXPECT_FALSE(file.contains("__metadata__"));
  EXPECT_EQ(file.at("w").dtype, DType::f32);
  EXPECT_EQ(file.at("w").shape, (Shape{2, 1}));
  EXPECT_EQ(text_of(file.at("w")), "abcdefgh");
  EXPECT_EQ(file.at("scalar").shape, Shape{});
  EXPECT_EQ(text_of(file.at("scalar")), "12345678");
  EXPECT_EQ(text_of(file.at("none")), "");
  EXPECT_EQ(text_of(file.at("é")), "xyz");
}

TEST(SafeTensors, KnowsItsTypes) {
  const std::pair<const char*, DType> types[] = {
      {"BOOL", DType::boolean}, {"U8", DType::u8},   {"I8", DType::i8},          {"U16", DType::u16},
      {"I16", DType::i16},      {"U32", DType::u32}, {"I32", DType::i32},        {"U64", DType::u64},
      {"I64", DType::i64},      {"F16", DType::f16}, {"BF16", DType::bf16},      {"F32", DType::f32},
      {"F64", DType::f64},      {"C64", DType::c64}, {"F8_E4M3", DType::f8e4m3}, {"F8_E5M2", DType::f8e5m2}};
  for (const auto& [name, dtype] : types) {
    const auto bytes = byte_size(dtype, 3);
    const auto file = parse(file_of(json{{"t", entry(name, {3}, 0, bytes)}}.dump(), std::string(bytes, 'x')));
    EXPECT_EQ(file.at("t").dtype, dtype) << name;
  }
}

TEST(SafeTensors, RefusesWhatIsMalformed) {
  const std::string good = json{{"a", entry("F32", {2}, 0, 8)}}.dump();
  const auto one = [](const json& tensor) { return json{{"a", tensor}}.dump(); };
  struct Case {
    std::string bytes, message;
  };
  const Case cases[] = {
      {"", "f: 0 bytes are too few for a safetensors file; the download may have been cut off"},
      {"1234567", "f: 7 bytes are too few for a safetensors file; the download may have been cut off"},
      {length_bytes(100'000'001) + good,
       "f: the header claims 100000001 bytes, at most 100000000 are allowed; this is not a safetensors file"},
      {length_bytes(~std::uint64_t{0}),
       "f: the header claims 18446744073709551615 bytes, at most 100000000 are allowed; this is not a safetensors "
       "file"},
      {length_bytes(9) + "{}",
       "f: the header claims 9 bytes, the file has 2 after its length; the download may have been cut off"},
      {length_bytes(0), "f: the safetensors header does not begin with \"{\"; this is another kind of file"},
      {file_of(" {}", ""), "f: the safetensors header does not begin with \"{\"; this is another kind of file"},
      {file_of("[]", ""), "f: the safetensors header does not begin with \"{\"; this is another kind of file"},
      {file_of("{", ""), "f: safetensors header: broken JSON at byte 2"},
      {file_of("{} x", ""), "f: safetensors header: broken JSON at byte 4"},
      {file_of("{\"\xff\": 1}", ""), "f: safetensors header: broken JSON at byte 3"},
      {file_of(R"({"a": 1})", ""), "f: safetensors header: expected an object for tensor \"a\", got a number"},
      {file_of(R"({"a": [1]})", ""), "f: safetensors header: expected an object for tensor \"a\", got an array"},
      {file_of(R"({"a": {}})", ""), "f: safetensors header: tensor \"a\" lacks \"dtype\""},
      {file_of(R"({"a": {"dtype": "F32", "shape": []}})", ""),
       "f: safetensors header: tensor \"a\" lacks \"data_offsets\""},
      {file_of(R"({"a": {"dtype": "F32", "dtype": "F32"}})", ""),
       "f: safetensors header: tensor \"a\" has \"dtype\" twice"},
      {file_of(R"({"a": {"offset": 1}})", ""), "f: safetensors header: tensor \"a\" lacks \"dtype\""},
      {file_of(R"({"a": {"offset": [1}})", ""), "f: safetensors header: broken JSON at byte 20"},
      {file_of(R"({"__metadata__": null, "__metadata__": {}})", ""),
       "f: safetensors header: \"__metadata__\" is there twice"},
      {file_of(R"({"__metadata__": true})", ""),
       "f: safetensors header: expected an object of strings as \"__metadata__\", got a boolean"},
      {file_of(R"({"a": null})", ""), "f: safetensors header: expected an object for tensor \"a\", got null"},
      {file_of(R"({"a": {"dtype": 32}})", ""),
       "f: safetensors header: expected a string as \"dtype\" of tensor \"a\", got a number"},
      {file_of(R"({"a": {"shape": [-1]}})", ""),
       "f: safetensors header: expected sizes from 0 as \"shape\" of tensor \"a\", got a negative number"},
      {file_of(R"({"a": {"shape": [1.0]}})", ""),
       "f: safetensors header: expected sizes from 0 as \"shape\" of tensor \"a\", got a number that is no 64-bit "
       "integer"},
      {file_of(R"({"a": {"shape": [18446744073709551616]}})", ""),
       "f: safetensors header: expected sizes from 0 as \"shape\" of tensor \"a\", got a number that is no 64-bit "
       "integer"},
      {file_of(R"({"a": {"shape": [[1]]}})", ""),
       "f: safetensors header: expected sizes from 0 as \"shape\" of tensor \"a\", got an array"},
      {file_of(R"({"a": {"shape": 1}})", ""),
       "f: safetensors header: expected sizes from 0 as \"shape\" of tensor \"a\", got a number"},
      {file_of(R"({"a": {"data_offsets": [0]}})", ""),
       "f: safetensors header: \"data_offsets\" of tensor \"a\" has 1 numbers, expected 2"},
      {file_of(R"({"a": {"data_offsets": [0, 1, 2]}})", ""),
       "f: safetensors header: \"data_offsets\" of tensor \"a\" has more than 2 numbers"},
      {file_of(R"({"a": {"data_offsets": null}})", ""),
       "f: safetensors header: expected two byte positions as \"data_offsets\" of tensor \"a\", got null"},
      {file_of(R"({"__metadata__": {"a": 1}})", ""),
       "f: safetensors header: expected a string for \"a\" of \"__metadata__\", got a number"},
      {file_of(R"({"__metadata__": "x"})", ""),
       "f: safetensors header: expected an object of strings as \"__metadata__\", got a string"},
      {file_of(R"({"__metadata__": {"a": "1", "a": "2"}})", ""),
       "f: safetensors header: a key of \"__metadata__\" is there twice"},
      {file_of(R"({"__metadata__": {}, "__metadata__": {}})", ""),
       "f: safetensors header: \"__metadata__\" is there twice"},
      {file_of(one(entry("F33", {2}, 0, 8)), "12345678"),
       "f: tensor \"a\" has the unknown type \"F33\"; expected one of F32, F16, BF16, I64, …"},
      {file_of(one(entry("f32", {2}, 0, 8)), "12345678"),
       "f: tensor \"a\" has the unknown type \"f32\"; expected one of F32, F16, BF16, I64, …"},
      {file_of(one(entry("F32", {3}, 0, 8)), "12345678"), "f: tensor \"a\" has 8 bytes, expected 12 for F32 [3]"},
      {file_of(one(entry("F32", {2}, 8, 0)), "12345678"),
       "f: tensor \"a\" claims bytes 8 to 0, the file has 8 bytes of data; it may have been cut off"},
      {file_of(one(entry("F32", {2}, 0, 8)), "1234567"),
       "f: tensor \"a\" claims bytes 0 to 8, the file has 7 bytes of data; it may have been cut off"},
      {file_of(one(entry("F32", {2}, 0, 8)), "123456789"),
       "f: the tensors take 8 bytes, the file has 9 after its header"},
      {file_of("{}", "1"), "f: the tensors take 0 bytes, the file has 1 after its header"},
      {file_of(one(entry("F32", {1ull << 62, 2}, 0, 8)), "12345678"), "f: the shape of tensor \"a\" overflows 64 bits"},
      {file_of(one(entry("F32", {1ull << 63}, 0, 8)), "12345678"), "f: the shape of tensor \"a\" overflows 64 bits"},
      {file_of(one(entry("U8", {0, 1ull << 63}, 0, 0)), ""), "f: the shape of tensor \"a\" overflows 64 bits"},
      {file_of(one(entry("U8", {1ull << 32, 1ull << 32}, 0, 0)), ""), "f: the shape of tensor \"a\" overflows 64 bits"},
      {file_of(json{{"a", entry("U8", {4}, 0, 4)}, {"b", entry("U8", {4}, 3, 7)}}.dump(), "1234567"),
       "f: tensors \"a\" and \"b\" overlap at byte 3 of the data"},
      {file_of(json{{"a", entry("U8", {4}, 0, 4)}, {"b", entry("U8", {4}, 0, 4)}}.dump(), "1234"),
       "f: tensors \"a\" and \"b\" overlap at byte 0 of the data"},
      {file_of(json{{"a", entry("U8", {4}, 0, 4)}, {"b", entry("U8", {2}, 5, 7)}}.dump(), "1234567"),
       "f: bytes 4 to 5 of the data belong to no tensor (before \"b\")"},
      {file_of("{\"a\": " + entry("U8", {1}, 0, 1).dump() + ", \"a\": " + entry("U8", {1}, 1, 2).dump() + "}", "12"),
       "f: the tensor \"a\" is there twice"},
      {file_of("{\"" + std::string(200, 'n') + "\\n\": 1}", ""),
       "f: safetensors header: expected an object for tensor \"" + std::string(80, 'n') + "…\", got a number"},
      {file_of("{\"a\": {\"shape\": " + json(std::vector<int>(65, 1)).dump() + "}}", ""),
       "f: safetensors header: tensor \"a\" has too many dimensions"},
  };
  for (const auto& [bytes, message] : cases) {
    EXPECT_EQ(test::thrown_by([&] { parse(bytes); }), "FormatError: " + message);
  }
}

// As the format's own library reads it: fields that it does not know are skipped, and the metadata may be null.
TEST(SafeTensors, SkipsWhatItDoesNotKnow) {
  const std::string entry_text = R"("dtype": "U8", "shape": [2], "data_offsets": [0, 2])";
  for (const char* field : {R"("x": 1)", R"("x": -1.5e3)", R"("x": null)", R"("x": "t")", R"("x": [])", R"("x": {})",
                            R"("x": [1, [2, {"dtype": [3]}], {}], "y": false)",
                            R"("x": {"shape": {"a": []}, "b": true})", R"("x": 99999999999999999999)"}) {
    for (const bool first : {true, false}) {
      const std::string fields = first ? std::string(field) + ", " + entry_text : entry_text + ", " + field;
      const auto file = parse(file_of("{\"a\": {" + fields + "}}", "12"));
      EXPECT_EQ(text_of(file.at("a")), "12") << fields;
      EXPECT_EQ(file.at("a").shape, Shape{2});
    }
  }
  const auto file = parse(file_of("{\"__metadata__\": null, \"a\": {" + entry_text + "}}", "12"));
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_EQ(text_of(file.at("a")), "12");
}

// Types and ranks that Weft does not have are refused one by one. Bits of the types: safetensors/src/tensor.rs.
TEST(SafeTensors, WhatItCannotHoldLeavesTheOthersReadable) {
  const std::tuple<const char*, std::uint64_t, std::uint64_t> foreign[] = {
      {"F4", 4, 2},      {"F6_E2M3", 4, 3},     {"F6_E3M2", 8, 6},
      {"F8_E8M0", 3, 3}, {"F8_E4M3FNUZ", 3, 3}, {"F8_E5M2FNUZ", 3, 3}};
  for (const auto& [type, count, bytes] : foreign) {
    const json header = {{"a", entry("U8", {1}, 0, 1)},
                         {"odd", entry(type, {count}, 1, 1 + bytes)},
                         {"z", entry("U8", {1}, 1 + bytes, 2 + bytes)}};
    const auto file = parse(file_of(header.dump(), "a" + std::string(bytes, '?') + "z"));
    EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "odd", "z"}));
    EXPECT_TRUE(file.contains("odd"));
    EXPECT_EQ(file.size(), 3u);
    EXPECT_EQ(text_of(file.at("a")), "a");
    EXPECT_EQ(text_of(file.at("z")), "z");
    const std::string message = std::string("Unsupported: f: tensor \"odd\" has type ") + type +
                                ", which Weft cannot hold; convert it to F32, F16 or BF16";
    EXPECT_EQ(test::thrown_by([&] { file.at("odd"); }), message);
    EXPECT_EQ(test::thrown_by([&] { file.at("odd", {4}); }), message);
  }
  const auto one = [](const char* type, const json& shape, std::uint64_t bytes) {
    return test::thrown_by(
        [&] { parse(file_of(json{{"a", entry(type, shape, 0, bytes)}}.dump(), std::string(bytes, '?'))); });
  };
  EXPECT_EQ(one("F4", {3}, 2), "FormatError: f: tensor \"a\" takes 12 bits, which are no whole bytes");
  EXPECT_EQ(one("F6_E2M3", {4}, 4), "FormatError: f: tensor \"a\" has 4 bytes, expected 3 for F6_E2M3 [4]");
  EXPECT_EQ(one("F4", {0, 3}, 0), "nothing");
  EXPECT_EQ(one("F4", {1ull << 62, 4}, 1), "FormatError: f: the shape of tensor \"a\" overflows 64 bits");
  const auto nine = parse(
      file_of(json{{"a", entry("U8", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 1)}, {"b", entry("U8", {1}, 1, 2)}}.dump(), "ab"));
  EXPECT_EQ(test::thrown_by([&] { nine.at("a"); }),
            "Unsupported: f: tensor \"a\" has 9 dimensions, Weft has at most 8");
  EXPECT_EQ(text_of(nine.at("b")), "b");
}

// The same through an index, whose shards give what it names.
TEST(SafeTensors, WhatAShardCannotHoldLeavesTheOthersReadable) {
  const test::TempDir dir;
  dir.write("one.safetensors",
            file_of(json{{"a", entry("U8", {1}, 0, 1)}, {"odd", entry("F8_E8M0", {1}, 1, 2)}}.dump(), "a?"));
  const auto path = dir.write("m.safetensors.INDEX.json",
                              json{{"weight_map", {{"a", "one.safetensors"}, {"odd", "one.safetensors"}}}}.dump());
  const auto file = SafeTensors::open(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "odd"}));
  EXPECT_EQ(text_of(file.at("a")), "a");
  EXPECT_THROW(file.at("odd"), Unsupported);
}

TEST(SafeTensors, SaysWhatIsThereInstead) {
  const auto file = parse(file_of(json{{"encoder.0.weight", entry("F32", {2}, 0, 8)}}.dump(), "12345678"));
  EXPECT_EQ(
      test::thrown_by([&] { file.at("bert.encoder.0.weight"); }),
      "InvalidArgument: f: there is no tensor \"bert.encoder.0.weight\"; the nearest name is \"encoder.0.weight\"");
  EXPECT_EQ(test::thrown_by([&] { file.at("x"); }), "InvalidArgument: f: there is no tensor \"x\" among its 1");
  EXPECT_EQ(test::thrown_by([&] { file.at("encoder.0.weight", {3}); }),
            "FormatError: f: tensor \"encoder.0.weight\" has shape [2], expected [3]");
  EXPECT_EQ(&file.at("encoder.0.weight", {2}), &file.at("encoder.0.weight"));
}

TEST(SafeTensors, KnowsAPointerOfGitLfs) {
  EXPECT_EQ(
      test::thrown_by([] {
        parse(
            "version https://git-lfs.github.com/spec/v1\noid sha256:53aa51172d142c89d9012cce15ae4d6c\nsize "
            "90868376\n");
      }),
      "FormatError: f: this is a Git LFS pointer; the file of 90868376 bytes that it stands for was not downloaded: "
      "run `git lfs pull` in its repository");
}

TEST(SafeTensors, OutlivesItsReader) {
  const test::TempDir dir;
  const auto path = dir.write("w.safetensors", file_of(json{{"a", entry("U8", {4}, 0, 4)}}.dump(), "1234"));
  TensorData tensor;
  {
    const auto file = SafeTensors::open(path);
    EXPECT_EQ(file.source(), path.string());
    tensor = file.at("a");
  }
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(tensor), "1234");
}

TEST(SafeTensors, OpensDirectoriesAndShards) {
  const test::TempDir dir;
  EXPECT_EQ(test::thrown_by([&] { SafeTensors::open(dir.path()); }),
            "IoError: " + dir.path().string() +
                " has neither model.safetensors nor model.safetensors.index.json; give a "
                "directory with weights in that format");
  dir.write(
      "one.safetensors",
      file_of(json{{"__metadata__", {{"k", "v"}}}, {"a", entry("U8", {2}, 0, 2)}, {"c", entry("U8", {1}, 2, 3)}}.dump(),
              "aac"));
  dir.write("two.safetensors", file_of(json{{"b", entry("U8", {3}, 0, 3)}}.dump(), "bbb"));
  const auto index = [](json map) {
    return json{{"metadata", {{"total_size", 6}, {"x", {1, {{"weight_map", 2}}}}}}, {"weight_map", std::move(map)}};
  };
  const auto path =
      dir.write("model.safetensors.index.json",
                index({{"a", "one.safetensors"}, {"c", "one.safetensors"}, {"b", "two.safetensors"}}).dump());
  const auto sharded = SafeTensors::open(dir.path());
  EXPECT_EQ(sharded.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(text_of(sharded.at("b")), "bbb");
  EXPECT_EQ(text_of(sharded.at("c")), "c");
  EXPECT_EQ(sharded.metadata().at("k"), "v");

  // A single file is preferred.
  dir.write("model.safetensors", file_of(json{{"whole", entry("U8", {1}, 0, 1)}}.dump(), "w"));
  EXPECT_TRUE(SafeTensors::open(dir.path()).contains("whole"));

  struct Case {
    std::string json, message;
  };
  const std::string where = path.string() + ": safetensors index: ";
  const auto map = [](const std::string& entries) { return "{\"weight_map\": {" + entries + "}}"; };
  const Case cases[] = {
      {map("\"z\": \"one.safetensors\""),
       "FormatError: " + path.string() + ": tensor \"z\" should be in \"one.safetensors\", which does not have it"},
      {map("\"a\": \"no.safetensors\""),
       "IoError: cannot open " + (dir.path() / "no.safetensors").string() + ": no such file"},
      {map("\"a\": \"../one.safetensors\""),
       "FormatError: " + where + "\"../one.safetensors\" of tensor \"a\" is not the name of a file beside the index"},
      {map("\"a\": \"/etc/passwd\""),
       "FormatError: " + where + "\"/etc/passwd\" of tensor \"a\" is not the name of a file beside the index"},
      {map("\"a\": \"..\""),
       "FormatError: " + where + "\"..\" of tensor \"a\" is not the name of a file beside the index"},
      {map("\"a\": \"\""), "FormatError: " + where + "\"\" of tensor \"a\" is not the name of a file beside the index"},
      {map("\"a\": 1"), "FormatError: " + where + "expected a file name for tensor \"a\""},
      {map("\"a\": {}"), "FormatError: " + where + "expected a file name for tensor \"a\""},
      {map("\"a\": []"), "FormatError: " + where + "expected a file name for tensor \"a\""},
      {map("\"a\": \"x\", \"a\": \"x\""), "FormatError: " + where + "the tensor \"a\" is there twice"},
      {"{}", "FormatError: " + where + "there is no \"weight_map\""},
      {"{\"weight_map\": []}", "FormatError: " + where + "expected an object as \"weight_map\""},
      {"{\"weight_map\": \"x\"}", "FormatError: " + where + "expected an object as \"weight_map\""},
      {"[]", "FormatError: " + where + "expected a JSON object"},
      {"1", "FormatError: " + where + "expected a JSON object"},
      {"{\"weight_map\": {\"a\": \"b\"", "FormatError: " + where + "broken JSON at byte 25"},
  };
  for (const auto& [text, message] : cases) {
    dir.write("model.safetensors.index.json", text);
    EXPECT_EQ(test::thrown_by([&] { SafeTensors::open(path); }), message);
  }
}

TEST(SafeTensors, NamesTheFileThatCannotBeRead) {
  const test::TempDir dir;
  const auto message = [&](const std::string& name) {
    return test::thrown_by([&] { SafeTensors::open(dir.path() / name); });
  };
  const auto full = [&](const std::string& name) { return (dir.path() / name).string(); };
  EXPECT_EQ(message("missing.safetensors"), "IoError: cannot open " + full("missing.safetensors") + ": no such file");
  dir.write("empty.safetensors", "");
  EXPECT_EQ(message("empty.safetensors"),
            "FormatError: " + full("empty.safetensors") +
                ": 0 bytes are too few for a safetensors file; the download may have been cut off");
  std::filesystem::create_symlink("loop.safetensors", dir.path() / "loop.safetensors");
  EXPECT_EQ(message("loop.safetensors"),
            "IoError: cannot open " + full("loop.safetensors") + ": Too many levels of symbolic links");
  std::filesystem::create_directory(dir.path() / "model.safetensors");
  EXPECT_EQ(message("model.safetensors"), "IoError: " + full("model.safetensors") +
                                              " has neither model.safetensors nor model.safetensors.index.json; give a "
                                              "directory with weights in that format");
  EXPECT_EQ(test::thrown_by([] { SafeTensors::open("/dev/null"); }),
            "IoError: cannot open /dev/null: expected a file, this is a device");
  if (::geteuid() != 0) {
    dir.write("secret.safetensors", "x");
    std::filesystem::permissions(dir.path() / "secret.safetensors", std::filesystem::perms::none);
    EXPECT_EQ(message("secret.safetensors"),
              "IoError: cannot open " + full("secret.safetensors") + ": Permission denied");
  }
}

// What is written is read back; a file truncated anywhere is refused.
RC_GTEST_PROP(SafeTensors, RoundTrips, (const std::map<std::string, std::vector<std::uint8_t>>& tensors)) {
  constexpr std::pair<const char*, DType> kTypes[] = {
      {"U8", DType::u8}, {"F16", DType::f16}, {"F32", DType::f32}, {"F64", DType::f64}};
  json header = json::object();
  std::string data;
  struct Expected {
    DType dtype;
    Shape shape;
    std::string bytes;
  };
  std::map<std::string, Expected> expected;
  for (const auto& [raw_name, raw_bytes] : tensors) {
    std::string name;
    for (const char c : raw_name) name += static_cast<char>('!' + static_cast<unsigned char>(c) % 90);
    const auto& [spelling, dtype] = kTypes[*rc::gen::inRange(0, 4)];
    const auto width = static_cast<std::size_t>(bits(dtype)) / 8;
    std::string bytes(raw_bytes.begin(), raw_bytes.end());
    bytes.resize(bytes.size() / width * width);
    const auto count = static_cast<std::int64_t>(bytes.size() / width);
    const Shape shape = count % 2 ? Shape{count} : Shape{count / 2, 1, 2};
    if (!expected.emplace(name, Expected{dtype, shape, bytes}).second) continue;
    header[name] =
        entry(spelling, std::vector<std::int64_t>(shape.begin(), shape.end()), data.size(), data.size() + bytes.size());
    data += bytes;
  }
  const std::string bytes = file_of(header.dump() + std::string(*rc::gen::inRange<std::size_t>(0, 9), ' '), data);
  const auto file = parse(bytes);
  RC_ASSERT(file.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    RC_ASSERT(file.at(name).dtype == tensor.dtype);
    RC_ASSERT(file.at(name).shape == tensor.shape);
    RC_ASSERT(text_of(file.at(name)) == tensor.bytes);
  }
  const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT_THROWS_AS(parse(bytes.substr(0, cut)), FormatError);
}

}  // namespace
}  // namespace weft
