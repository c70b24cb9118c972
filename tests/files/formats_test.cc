// Malformed .npy and .npz files: each is a typed error that says what is wrong, and takes no memory before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "core/mapped_file.h"
#include "files/npy.h"
#include "files/npz.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

NpyArray parse(const std::string& file) {
  const auto owner = std::make_shared<const std::string>(file);
  return parse_npy(bytes_of(*owner), owner, "f");
}

std::string file_of(const std::string& dictionary, const std::string& elements = "", int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(dictionary.size() >> (8 * i));
  return file + dictionary + elements;
}

std::string with(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

TEST(Npy, HeadersOfOtherWriters) {
  const std::string eight(8, 'x');
  const auto accepted = [&](const std::string& dictionary, const Shape& shape, int version = 1) {
    const NpyArray array = parse(file_of(dictionary, eight, version));
    EXPECT_EQ(array.data.shape, shape) << dictionary;
    EXPECT_EQ(array.data.dtype, DType::f32) << dictionary;
    EXPECT_EQ(array.data.bytes.size(), 8u);
  };
  accepted("{'shape':(2,),'fortran_order':False,'descr':'<f4'}", {2});
  accepted("{\"shape\" : ( 2 , 1 ) , \"descr\" : \"<f4\", 'fortran_order' : False}\n", {2, 1});
  accepted(with("'<f4'", "False", "(2L, 1L)"), {2, 1});
  accepted(with("'f4'", "False", "(1, 2)"), {1, 2}, 2);
  accepted(with("'=f4'", "False", "(1, 2,)"), {1, 2}, 3);
  accepted(with("'|f4'", "True", "(1, 2)") + "   \n", {2, 1});
}

// Whatever numpy.dtype() of NumPy 2.4 on 64-bit Linux takes for these types; it writes the first one. With a byte order
// NumPy takes codes and letters alone.
TEST(Npy, EveryNameOfAType) {
  const std::pair<DType, std::vector<std::string>> types[] = {
      {DType::boolean, {"b1", "?", "bool", "bool_"}},
      {DType::u8, {"u1", "B", "ubyte", "uint8"}},
      {DType::i8, {"i1", "b", "byte", "int8"}},
      {DType::u16, {"u2", "H", "uint16", "ushort"}},
      {DType::i16, {"i2", "h", "int16", "short"}},
      {DType::u32, {"u4", "I", "uint32", "uintc"}},
      {DType::i32, {"i4", "i", "int32", "intc"}},
      {DType::u64, {"u8", "L", "N", "P", "Q", "uint", "uint64", "uintp", "ulong", "ulonglong"}},
      {DType::i64, {"i8", "int", "int64", "int_", "intp", "l", "long", "longlong", "n", "p", "q"}},
      {DType::f16, {"f2", "e", "float16", "half"}},
      {DType::f32, {"f4", "f", "float32", "single"}},
      {DType::f64, {"f8", "d", "double", "float", "float64"}},
      {DType::c64, {"c8", "F", "complex64", "csingle"}}};
  const std::string bytes = "12345678";
  for (const auto& [dtype, names] : types) {
    for (const std::string& name : names) {
      for (const std::string order : {"", "<", ">", "=", "|"}) {
        const NpyArray array = parse(file_of(with("'" + order + name + "'", "False", "(1,)"), bytes));
        EXPECT_EQ(array.data.dtype, dtype) << order << name;
        std::string expected = bytes.substr(0, bits(dtype) / 8);
        const std::size_t part = dtype == DType::c64 ? 4 : expected.size();
        for (std::size_t at = 0; order == ">" && at < expected.size(); at += part) {
          std::reverse(expected.begin() + static_cast<std::ptrdiff_t>(at),
                       expected.begin() + static_cast<std::ptrdiff_t>(at + part));
        }
        EXPECT_EQ(array.data.bytes.size(), expected.size()) << order << name;
        EXPECT_EQ(std::memcmp(array.data.bytes.data(), expected.data(), expected.size()), 0) << order << name;
      }
    }
  }
}

// NumPy reads one array, and leaves what follows: several may be in a file.
TEST(Npy, WhatFollowsTheArrayIsLeft) {
  for (const std::string rest : {"9", "\n", "\x93NUMPY"}) {
    const NpyArray array = parse(file_of(with("'<f4'", "False", "(2,)"), "12345678" + rest));
    EXPECT_EQ(array.data.bytes.size(), 8u);
    EXPECT_EQ(std::memcmp(array.data.bytes.data(), "12345678", 8), 0);
  }
}

TEST(Npy, KnowsAPointerOfGitLfs) {
  EXPECT_THAT(test::thrown_by([] { parse("version https://git-lfs.github.com/spec/v1\noid sha256:53\nsize 12\n"); }),
              HasSubstr("f: this is a Git LFS pointer; the file of 12 bytes that"));
}

TEST(Npy, RefusesWhatIsMalformed) {
  const std::string good = with("'<f4'", "False", "(2,)");
  const struct {
    std::string file, message;
  } cases[] = {
      {"", "got nothing"},
      {"PK\x03\x04", "got \"PK"},
      {"\x93NUMPY", "6 bytes are too few"},
      {std::string("\x93NUMPY\x04\x00????", 12), "version is 4.0"},
      {std::string("\x93NUMPY\x01\x01????", 12), "version is 1.1"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "claims 4294967295 bytes"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), "ends at byte 65545, the file has 12"},
      {file_of(good, "1234567"), "takes 8 bytes, the file has 7 after its header; it may have been cut off"},
      {file_of("     "), "its end, expected \"{\""},
      {file_of("{      "), "its end, expected a string"},
      {file_of("{'descr'       "), "its end, expected \":\""},
      {file_of("{'descr': '<f4', 'shape': (2,)}"), "no 'fortran_order'"},
      {file_of("{'descr': '<f4', 'fortran_order': False}"), "no 'shape'"},
      {file_of("{'shape': (2,), 'fortran_order': False}"), "no 'descr'"},
      {file_of("{'descr': '<f4', 'descr': '<f4'}"), "'descr' twice"},
      {file_of("{'what': '<f4'}"), "unknown key \"what\""},
      {file_of(good + " x"), "\"x\" after the dictionary"},
      {file_of("{'descr' '<f4'}"), "expected \":\""},
      {file_of("{'descr': '<f4' 'shape': ()}"), "expected \"}\""},
      {file_of(with("'<f5'", "False", "(2,)")), "unknown type \"<f5\""},
      {file_of(with("''", "False", "(2,)")), "unknown type \"\""},
      {file_of(with("'<'", "False", "(2,)")), "unknown type \"<\""},
      {file_of(with("'float3'", "False", "(2,)")), "unknown type \"float3\""},
      {file_of(with("'double float'", "False", "(2,)")), "unknown type \"double float\""},
      {file_of(with("' f4'", "False", "(2,)")), "unknown type \" f4\""},
      {file_of(with("'<f4", "False", "(2,)")), "unknown type"},
      {file_of(with("4", "False", "(2,)")), "header has \"4\", expected a string"},
      {file_of(with("'<f4'", "0", "(2,)")), "header has \"0\" as 'fortran_order', expected True or False"},
      {file_of(with("'<f4'", "False", "(2)")), "expected a tuple"},
      {file_of(with("'<f4'", "False", "2")), "expected \"(\""},
      {file_of(with("'<f4'", "False", "[2]")), "expected \"(\""},
      {file_of(with("'<f4'", "False", "(-2,)")), "expected sizes from 0"},
      {file_of(with("'<f4'", "False", "(2 3)")), "expected a comma"},
      {file_of(with("'<f4'", "False", "(2.5,)")), "expected a comma"},
      {file_of(with("'<f4'", "False", "(2L,)"), "12345678", 3), "expected a comma"},
      {file_of(with("'<f4'", "False", "(,)")), "expected sizes from 0"},
      {file_of(with("'<f4'", "False", "(9223372036854775808,)")), "expected sizes from 0"},
      {file_of(with("'<f4'", "False", "(4294967296, 4294967296)")), "more than 2^63 bytes"},
      {file_of(with("'<f4'", "False", "(4611686018427387904, 0, 4611686018427387904)")), "more than 2^63 bytes"},
      {file_of(with("'<f4'", "False", "(576460752303423487,)")), "takes 2305843009213693948 bytes, the file has 0"},
      {file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,"), "its end in the shape"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(thrown_by([&] { (void)parse(c.file); }), AllOf(StartsWith("FormatError: f: "), HasSubstr(c.message)));
  }
}

TEST(Npy, NamesWhatItDoesNotHave) {
  const std::pair<std::string, std::string> cases[] = {
      {with("'<c16'", "False", "(2,)"), "complex128"},
      {with("'|O'", "False", "(2,)"), "Python objects"},
      {with("'|S3'", "False", "(2,)"), "bytes"},
      {with("'<U3'", "False", "(2,)"), "text"},
      {with("'<M8[ns]'", "False", "(2,)"), "datetime64"},
      {with("'<m8[s]'", "False", "(2,)"), "timedelta64"},
      {with("'|V4'", "False", "(2,)"), "raw bytes"},
      {with("'complex'", "False", "(2,)"), "complex128"},
      {with("'longdouble'", "False", "(2,)"), "float128"},
      {with("'object'", "False", "(2,)"), "Python objects"},
      {with("[('a', '<f4')]", "False", "(2,)") + std::string(60, ' ') + "\n",
       "the structured \"[('a', '<f4')]\"; Weft has"},
      {with("[('a]', '<f4', (2, 3)), ('b', [('c', '<i2')])]", "False", "(2,)"),
       "the structured \"[('a]', '<f4', (2, 3)), ('b', [('c', '<i2')])]\"; Weft has"},
      {with("('<f4', (2,))", "False", "(2,)"), "the structured \"('<f4', (2,))\"; Weft has"},
      {"{'descr': [('a', '<f4'  ", "the structured \"[('a', '<f4'  \"; Weft has"},
      {with("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"), "9 dimensions"}};
  for (const auto& [dictionary, message] : cases) {
    EXPECT_THAT(thrown_by([&] { (void)parse(file_of(dictionary, "12345678")); }),
                AllOf(StartsWith("Unsupported: f: "), HasSubstr(message)));
  }
}

// ---- Archives.

TensorData numbers(int count) {
  std::vector<float> values(static_cast<std::size_t>(count), 1.5f);
  return TensorData::of<float>(DType::f32, {count}, values);
}

std::string archive(std::vector<std::string> names, int count) {
  const TempDir directory;
  std::vector<FileEntry> entries;
  for (std::string& name : names) entries.push_back({std::move(name), {DType::f32, {count}}});
  const std::filesystem::path path = directory.path() / "a.npz";
  write_npz(path, "a", entries, [&](std::size_t) { return numbers(count); });
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The archive with bytes put at a distance from each of the local or central headers.
std::string patched(std::string file, std::string_view header, std::size_t distance, std::string_view bytes) {
  int found = 0;
  for (std::size_t at = file.find(header); at != std::string::npos; at = file.find(header, at + 1), ++found) {
    file.replace(at + distance, bytes.size(), bytes);
  }
  EXPECT_GT(found, 0);
  return file;
}
constexpr std::string_view kLocal = "PK\x03\x04", kCentral = "PK\x01\x02";
std::string patched_both(const std::string& file, std::size_t central, std::string_view bytes) {
  return patched(patched(file, kLocal, central - 2, bytes), kCentral, central, bytes);
}

void read_all(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  const NpzFile file(bytes_of(*owner), owner, "f");
  for (std::size_t i = 0; i < file.names().size(); ++i) (void)file.read(i);
}

TEST(Npz, RefusesWhatIsMalformed) {
  const std::string good = archive({"a", "b"}, 4);
  EXPECT_EQ(thrown_by([&] { read_all(good); }), "nothing");
  const std::string deflated = patched_both(good, 10, std::string_view("\x08\x00", 2));
  const std::string elements(reinterpret_cast<const char*>(numbers(4).bytes.data()), 16);
  std::string flipped = good;
  flipped[good.find(elements)] ^= 1;
  std::string header = good;
  header.replace(good.find("(4,)"), 4, "(5,)");
  std::string overflow = good;
  overflow.replace(good.find("(4,), }      "), 13, "(4,4,9999), }");
  std::string magic = good;
  magic.replace(good.find("\x93NUMPY"), 6, "NUMPY!");
  const struct {
    std::string file, message;
  } cases[] = {
      {"", "the file is empty"},
      {"\x93NUMPY, and some more bytes than a directory's end has", "expected a ZIP archive"},
      {good.substr(0, good.size() - 1), "expected a ZIP archive"},
      {good.substr(good.size() / 2), "expected a ZIP archive"},
      {flipped, "array \"a\": cannot be read: CRC error"},
      {header, "f32 [5] takes 20 bytes, the member has 16"},
      {overflow, "takes 639936 bytes"},
      {magic, "expected an .npy array"},
      {patched_both(good, 24, std::string_view("\x00\x00\x00\x7f", 4)), "sizes don't match"},
      {patched_both(deflated, 24, std::string_view("\xff\xff\xff\x7f", 4)), "claims 2147483647 bytes"},
      {deflated, "array \"a\": "},
      // A member that holds another, as in archives that are small and unpack to any size.
      {[&] {
         std::string nested = archive({"a", "b"}, 1000);
         const std::uint32_t size = 2 * (128 + 4000) + 30 + 5;  // both members, and the header between them
         char sizes[8];
         std::memcpy(sizes, &size, 4), std::memcpy(sizes + 4, &size, 4);
         nested.replace(nested.find(kLocal) + 18, 8, sizes, 8);
         nested.replace(nested.find(kCentral) + 20, 8, sizes, 8);
         return nested;
       }(),
       "members take more than"},
      // An entry that leads to another's member.
      {patched(archive({"a", "b"}, 1000), kCentral, 42, std::string_view("\0\0\0\0", 4)), "inconsistent"},
      {[&] {
         std::string twice = archive({"abcd", ""}, 4);
         for (std::size_t at = 0; (at = twice.find(".npy", at)) != std::string::npos; ++at) {
           if (twice[at - 1] != 'd') twice.replace(at, 4, "abcd");
         }
         return twice;
       }(),
       "the array \"abcd\" is there twice"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(thrown_by([&] { read_all(c.file); }), AllOf(StartsWith("FormatError: f: "), HasSubstr(c.message)))
        << c.message;
  }
  EXPECT_THAT(thrown_by([&] { read_all(patched_both(deflated, 8, std::string_view("\x01\x00", 2))); }),
              AllOf(StartsWith("Unsupported: f: "), HasSubstr("encrypted")));
}

// As Python's zipfile and NumPy take them: the last member of a name counts. All other checks hold.
TEST(Npz, OfMembersOfOneNameTheLastCounts) {
  const TempDir directory;
  const std::vector<FileEntry> entries = {
      {"a", {DType::f32, {1}}}, {"b", {DType::f32, {2}}}, {"c", {DType::f32, {3}}}, {"d", {DType::f32, {4}}}};
  write_npz(directory.path() / "a.npz", "a", entries, [](std::size_t i) { return numbers(static_cast<int>(i) + 1); });
  std::string file = read_file(directory.path() / "a.npz");
  for (std::size_t at = 0; (at = file.find("c.npy", at)) != std::string::npos; ++at) file[at] = 'a';
  const auto owner = std::make_shared<const std::string>(file);
  const NpzFile npz(bytes_of(*owner), owner, "f");
  EXPECT_THAT(npz.names(), testing::ElementsAre("b", "a", "d"));
  EXPECT_EQ(npz.read(0).data.shape, Shape{2});
  EXPECT_EQ(npz.read(1).data.shape, Shape{3});
  EXPECT_EQ(npz.read(2).data.shape, Shape{4});
  EXPECT_THAT(thrown_by([&] { read_all(patched(file, kCentral, 42, std::string_view("\0\0\0\0", 4))); }),
              AllOf(StartsWith("FormatError: f: "), HasSubstr("inconsistent")));
}

// Each file that is cut off anywhere, or has one byte changed, is read or refused with a typed error.
TEST(Npz, AnyByteMayBeWrong) {
  const std::string good = archive({"a", "b"}, 3);
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[at] ^= flip;
      const std::string text = thrown_by([&] { read_all(bad); });
      EXPECT_TRUE(text == "nothing" || text.starts_with("FormatError: f: ") || text.starts_with("Unsupported: f: "))
          << at << ": " << text;
      refused += text != "nothing";
    }
    EXPECT_THAT(thrown_by([&] { read_all(good.substr(0, at)); }), StartsWith("FormatError: f: ")) << at;
  }
  EXPECT_GT(refused, static_cast<int>(good.size())) << "the elements have a checksum";
}

TEST(Npz, AWriteThatFailsSaysSo) {
  const TempDir directory;
  const std::vector<FileEntry> entries = {{"a", {DType::f32, {4}}}};
  EXPECT_THAT(thrown_by([&] {
                write_npz(directory.path() / "a.npz", "a", entries,
                          [](std::size_t) -> TensorData { throw DeviceLost("gone"); });
              }),
              HasSubstr("gone"));
  EXPECT_THAT(thrown_by([&] {
                write_npz(directory.path() / "no/a.npz", "a.npz", entries, [](std::size_t) { return numbers(4); });
              }),
              AllOf(StartsWith("IoError: "), HasSubstr("a.npz"), HasSubstr("No such file")));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Npz, ANameIsGivenOnce) {
  const TempDir directory;
  const std::vector<FileEntry> entries(2, {"a", {DType::f32, {4}}});
  EXPECT_EQ(
      thrown_by([&] { write_npz(directory.path() / "a.npz", "a", entries, [](std::size_t) { return numbers(4); }); }),
      "InvalidArgument: the name \"a\" is given twice; a file holds each once");
}

// Bytes that come in pieces are those that come at once.
TEST(Npz, WritesPieces) {
  const TempDir directory;
  const std::vector<FileEntry> entries = {{"a", {DType::f32, {1000}}}, {"b", {DType::f32, {0}}}};
  const TensorData whole = numbers(1000);
  write_npz(directory.path() / "whole.npz", "a", entries, [&](std::size_t i) { return i == 0 ? whole : numbers(0); });
  write_npz(directory.path() / "pieces.npz", "a", entries, [&](std::size_t i) {
    return EntryPieces([rest = i == 0 ? whole.bytes : std::span<const std::byte>()]() mutable {
      const auto piece = rest.first(std::min<std::size_t>(rest.size(), 700));
      rest = rest.subspan(piece.size());
      return piece;
    });
  });
  EXPECT_EQ(read_file(directory.path() / "pieces.npz"), read_file(directory.path() / "whole.npz"));
}

}  // namespace
}  // namespace weft::test
