#include "files/npz.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <format>
#include <limits>
#include <map>
#include <set>

#include "core/format.h"
#include "core/git_lfs.h"
#include "core/in_quotes.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kSuffix = ".npy";
// Deflate stores at most 258 bytes in two bits (RFC 1951, 3.2.5).
constexpr std::uint64_t kLargestRatio = 1032;

struct ZipError {
  zip_error_t error;
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  ZipError(const ZipError&) = delete;
  const char* text() { return zip_error_strerror(&error); }
};

// A member that is being read.
class Member {
 public:
  Member(zip_t* archive, std::size_t index, std::string source)
      : source_(std::move(source)), file_(zip_fopen_index(archive, index, 0)) {
    if (!file_) throw FormatError("{}: cannot be read: {}", source_, zip_strerror(archive));
  }
  ~Member() { zip_fclose(file_); }
  Member(const Member&) = delete;

  const std::string& source() const { return source_; }
  // Fills `target`. Throws FormatError if the member ends before that.
  void read(std::span<std::byte> target) {
    while (!target.empty()) {
      const std::size_t part = read_some(target);
      if (part == 0) throw FormatError("{}: ends early, {} bytes are missing", source_, target.size());
      target = target.subspan(part);
    }
  }
  // Reads what follows; libzip compares the checksum where it finds the end.
  void skip_rest() {
    std::byte block[4096];
    while (read_some(block) != 0) continue;
  }

 private:
  std::size_t read_some(std::span<std::byte> target) {
    const zip_int64_t part = zip_fread(file_, target.data(), target.size());
    if (part < 0) throw FormatError("{}: cannot be read: {}", source_, zip_file_strerror(file_));
    return static_cast<std::size_t>(part);
  }

  std::string source_;
  zip_file_t* file_;
};

}  // namespace

NpzFile::NpzFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string source)
    : owner_(std::move(owner)), source_(std::move(source)), size_(bytes.size()) {
  // libzip takes a file without bytes for one that is to be made.
  if (bytes.empty()) throw FormatError("{}: the file is empty, expected a ZIP archive", source_);
  refuse_git_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, source_);
  // Members of one name are refused after all other checks, and together with them only; NumPy reads such archives.
  for (const int checks : {ZIP_CHECKCONS, 0}) {
    ZipError error;
    zip_source_t* from = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error);
    if (!from) throw OutOfMemory("{}: {}", source_, error.text());
    archive_ = zip_open_from_source(from, ZIP_RDONLY | checks, &error.error);
    if (archive_) break;
    zip_source_free(from);
    if (!checks || zip_error_code_zip(&error.error) != ZIP_ER_EXISTS) {
      throw FormatError("{}: expected a ZIP archive: {}", source_, error.text());
    }
  }
  try {
    check_members();
  } catch (...) {
    zip_discard(archive_);
    throw;
  }
}

NpzFile::~NpzFile() { zip_discard(archive_); }

void NpzFile::check_members() {
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive_, 0));
  std::set<std::string, std::less<>> names;
  // Of members of one name the last one counts, as in NumPy.
  std::map<std::string_view, zip_uint64_t> last;
  for (zip_uint64_t i = 0; i < count; ++i) {
    if (const char* name = zip_get_name(archive_, i, 0)) last[name] = i;
  }
  std::uint64_t stored = 0;
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive_, i, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded) {
      throw FormatError("{}: the entry of member {} is broken: {}", source_, i, zip_strerror(archive_));
    }
    const std::string_view member = stat.name;
    const bool stored_or_deflated = stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE;
    std::string refusal;
    if (stat.encryption_method != ZIP_EM_NONE) {
      refusal = "is encrypted";
    } else if (!stored_or_deflated) {
      refusal = std::format("is compressed by method {}; NumPy stores (0) or deflates (8)", stat.comp_method);
    }
    if (stored_or_deflated && stat.size / kLargestRatio > stat.comp_size) {
      throw FormatError("{}: member {} claims {} bytes, which its {} compressed ones cannot hold", source_,
                        in_quotes(member), stat.size, stat.comp_size);
    }
    // Members that share their bytes would be more than the file holds.
    stored += stat.comp_size;
    if (stat.comp_size > size_ || stored > size_) {
      throw FormatError("{}: its members take more than the {} bytes that it has", source_, size_);
    }
    if (last[member] != i) continue;
    // Folders, and files such as a README, are no arrays. NumPy, too, tells arrays of other names by how they begin.
    const bool named_array = member.ends_with(kSuffix);
    if (!named_array && (!refusal.empty() || !begins_as_array(i))) continue;
    std::string name(member.substr(0, member.size() - (named_array ? kSuffix.size() : 0)));
    if (!names.insert(name).second) throw FormatError("{}: the array {} is there twice", source_, in_quotes(name));
    names_.push_back(std::move(name));
    members_.push_back({i, stat.size, std::move(refusal)});
  }
}

bool NpzFile::begins_as_array(std::uint64_t index) const {
  std::vector<std::byte> start(kNpyMagic.size());
  zip_file_t* file = zip_fopen_index(archive_, index, 0);
  if (!file) return false;
  const zip_int64_t size = zip_fread(file, start.data(), start.size());
  zip_fclose(file);
  return size == static_cast<zip_int64_t>(start.size()) && !std::memcmp(start.data(), kNpyMagic.data(), start.size());
}

NpyArray NpzFile::read(std::size_t i) const {
  const auto& [index, size, refusal] = members_[i];
  if (!refusal.empty()) throw Unsupported("{}: array {} {}", source_, in_quotes(names_[i]), refusal);
  Member member(archive_, index, std::format("{}: array {}", source_, in_quotes(names_[i])));
  const std::string& source = member.source();
  std::vector<std::byte> header(std::min<std::uint64_t>(size, kNpyPrefix));
  member.read(header);
  const std::size_t start = npy_header_size(header, source);
  if (start > size) throw FormatError("{}: the .npy header ends at byte {}, the member has {}", source, start, size);
  header.resize(std::max(start, kNpyPrefix));
  member.read(std::span(header).subspan(kNpyPrefix, start - std::min(start, kNpyPrefix)));
  const NpyHeader parsed = parse_npy_header(std::span(header).first(start), source);
  const std::uint64_t expected = byte_size(parsed.type);
  if (size - start < expected) {
    throw FormatError("{}: {} takes {} bytes, the member has {} after its header", source, to_string(parsed.type),
                      expected, size - start);
  }
  const auto elements = allocate_elements(expected, source);
  const std::span<std::byte> bytes(elements.get(), expected);
  member.read(bytes);
  member.skip_rest();
  return npy_array(parsed, bytes, elements);
}

namespace {

// A member as libzip reads it while it writes the archive: its header, then the tensor's bytes, which are fetched when
// they are needed.
class Source {
 public:
  Source(const FileEntry& entry, std::size_t index, const EntryData& data, std::exception_ptr& failure)
      : header_(npy_header(entry.type)),
        size_(byte_size(entry.type)),
        index_(index),
        data_(&data),
        failure_(&failure) {}

  static zip_int64_t call(void* self, void* target, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<Source*>(self)->answer(target, size, command);
  }

 private:
  zip_int64_t answer(void* target, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
      case ZIP_SOURCE_OPEN:
        // No exception may pass through libzip.
        try {
          pieces_ = (*data_)(index_);
          piece_ = std::as_bytes(std::span(header_));
        } catch (...) {
          *failure_ = std::current_exception();
          return -1;
        }
        return 0;
      case ZIP_SOURCE_READ:
        return read(static_cast<std::byte*>(target), size);
      case ZIP_SOURCE_CLOSE:
        pieces_ = {};
        return 0;
      case ZIP_SOURCE_STAT: {
        auto& stat = *static_cast<zip_stat_t*>(target);
        zip_stat_init(&stat);
        stat.size = header_.size() + size_;
        stat.valid = ZIP_STAT_SIZE;
        return sizeof stat;
      }
      case ZIP_SOURCE_ERROR: {
        const int error[2] = {ZIP_ER_READ, 0};
        std::memcpy(target, error, sizeof error);
        return sizeof error;
      }
      case ZIP_SOURCE_FREE:
        return 0;
      default:
        return -1;
    }
  }

  zip_int64_t read(std::byte* target, std::uint64_t size) {
    try {
      if (piece_.empty()) piece_ = pieces_.next();
    } catch (...) {
      *failure_ = std::current_exception();
      return -1;
    }
    const std::size_t part = std::min<std::uint64_t>(size, piece_.size());
    std::copy_n(piece_.data(), part, target);
    piece_ = piece_.subspan(part);
    return static_cast<zip_int64_t>(part);
  }

  std::string header_;
  std::uint64_t size_;
  std::size_t index_;
  const EntryData* data_;
  std::exception_ptr* failure_;
  EntryPieces pieces_;
  std::span<const std::byte> piece_;  // what is left of it; the header is the first one
};

}  // namespace

void write_npz(const std::filesystem::path& path, std::string source, std::span<const FileEntry> entries,
               const EntryData& data) {
  std::set<std::string_view> names;
  for (const FileEntry& entry : entries) {
    if (!names.insert(entry.name).second) {
      throw InvalidArgument("the name {} is given twice; a file holds each once", in_quotes(entry.name));
    }
  }
  std::exception_ptr failure;
  std::vector<Source> sources;  // libzip has their addresses
  sources.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) sources.emplace_back(entries[i], i, data, failure);
  int code = 0;
  zip_t* archive = zip_open(path.string().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive) {
    ZipError error;
    zip_error_init_with_code(&error.error, code);
    throw IoError("cannot write {}: {}", source, error.text());
  }
  const auto fail = [&] {
    const std::string text = zip_strerror(archive);
    zip_discard(archive);
    if (failure) std::rethrow_exception(failure);
    throw IoError("cannot write {}: {}", source, text);
  };
  zip_set_archive_flag(archive, ZIP_AFL_CREATE_OR_KEEP_FILE_FOR_EMPTY_ARCHIVE, 1);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    zip_source_t* from = zip_source_function(archive, Source::call, &sources[i]);
    if (!from) fail();
    const std::string member = entries[i].name + std::string(kSuffix);
    const zip_int64_t index = zip_file_add(archive, member.c_str(), from, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(from);
      fail();
    }
    constexpr zip_uint16_t kDate1980 = 1 << 5 | 1;  // January 1st
    if (zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, kDate1980, 0) != 0) {
      fail();
    }
  }
  if (zip_close(archive) != 0) fail();
}

}  // namespace weft
