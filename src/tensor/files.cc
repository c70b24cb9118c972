#include "weft/files.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/in_quotes.h"
#include "core/mapped_file.h"
#include "core/nearest.h"
#include "core/output_target.h"
#include "core/suffix.h"
#include "core/utf8.h"
#include "files/npy.h"
#include "files/npz.h"
#include "files/safetensors_write.h"
#include "tensor/broadcast_read.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"

namespace weft {
namespace fs = std::filesystem;
namespace {

enum class FileFormat : std::uint8_t { npy, npz, safetensors };

FileFormat format_of(const fs::path& path) {
  constexpr std::pair<std::string_view, FileFormat> kFormats[] = {
      {".npy", FileFormat::npy}, {".npz", FileFormat::npz}, {".safetensors", FileFormat::safetensors}};
  for (const auto& [suffix, format] : kFormats) {
    if (has_suffix(path.string(), suffix)) return format;
  }
  throw InvalidArgument("{}: expected a path that ends in .npy, .npz or .safetensors", path.string());
}

// Whether a program that unpacks a member of this name may write outside of the folder that it unpacks into: absolute
// paths, which begin with an empty part or a drive, and parts "..", by the separators of every system.
bool leaves_folder(std::string_view name) {
  if (name.empty()) return false;
  if (name.size() > 1 && name[1] == ':') return true;
  while (true) {
    const std::size_t end = name.find_first_of("/\\");
    const std::string_view part = name.substr(0, end);
    if (part == ".." || part.empty()) return true;
    if (end == name.npos) return false;
    name.remove_prefix(end + 1);
  }
}

// An index or a model's directory, which are only read.
FileFormat format_to_read(const fs::path& path) {
  std::error_code ignored;
  if (has_suffix(path.string(), ".index.json") || fs::is_directory(path, ignored)) return FileFormat::safetensors;
  return format_of(path);
}

Tensor uploaded(const TensorData& data) { return tensor(data.dtype, data.shape, data.bytes); }

Tensor uploaded(const NpyArray& array) {
  const Tensor data = uploaded(array.data);
  if (!array.fortran_order || data.rank() < 2) return data;
  std::vector<int> reversed;
  for (int axis = data.rank(); axis-- > 0;) reversed.push_back(axis);
  return permute(data, reversed);
}

// The array of that name.
Tensor loaded(const NpzFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.names(), name);
  if (found != file.names().end()) return uploaded(file.read(static_cast<std::size_t>(found - file.names().begin())));
  throw InvalidArgument("{}: there is no array {}{}", file.source(), in_quotes(name),
                        nearest_text(nearest(name, file.names())));
}

// What the array of an .npy file is called.
std::string npy_name(const fs::path& path) { return path.stem().string(); }

Tensor load_npy(const fs::path& path) {
  const MappedFile file = MappedFile::open(path);
  return uploaded(parse_npy(file.bytes, file.owner, path.string()));
}

NpzFile open_npz(const fs::path& path) {
  const MappedFile file = MappedFile::open(path);
  return NpzFile(file.bytes, file.owner, path.string());
}

void require_one(const fs::path& path, const std::vector<std::string>& names) {
  if (names.size() == 1) return;
  std::string some;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i)
    some += (i ? ", " : "") + in_quotes(names[i]);
  if (names.empty()) throw InvalidArgument("load: {} holds no tensors, expected one", path.string());
  throw InvalidArgument("load: {} holds {} tensors ({}{}), expected one; load_all() gives them by name", path.string(),
                        names.size(), some, names.size() > 3 ? ", …" : "");
}

// What is to be written, checked as far as can be without values.
class Save {
 public:
  Save(fs::path path, const TensorMap& tensors, const SafeTensors::Metadata& metadata)
      : path_(std::move(path)), format_(format_of(path_)) {
    for (const auto& [name, tensor] : tensors) {
      if (!tensor.defined()) throw InvalidArgument("save: the tensor {} is undefined", in_quotes(name));
      // What has data once it is evaluated.
      broadcasts_.push_back(broadcast_read(tensor));
      tensors_.push_back(broadcasts_.back() ? broadcasts_.back()->stored : contiguous(tensor));
      entries_.push_back({name, tensor.type()});
    }
    in_context([&] { return "save: " + path_.string(); }, [&] { check(metadata); });
  }

  // Reads that are under way.
  std::vector<Future<gpu::ReadBytes>> start_reads() const {
    evaluate();
    std::vector<Future<gpu::ReadBytes>> reads;
    for (const Tensor& t : tensors_) reads.push_back(data_of(t).async_read());
    return reads;
  }
  // Reads one tensor after the other.
  void write() const {
    evaluate();
    write_file([&](std::size_t i) { return data(i, data_of(tensors_[i]).async_read().get()); });
  }
  void write(const std::vector<gpu::ReadBytes>& read) const {
    write_file([&](std::size_t i) { return data(i, read[i]); });
  }

 private:
  void check(const SafeTensors::Metadata& metadata) {
    if (format_ == FileFormat::safetensors) {
      layout_ = safetensors_layout(entries_, metadata);
      return;
    }
    if (!metadata.empty()) throw InvalidArgument("only .safetensors holds metadata");
    if (format_ == FileFormat::npy && entries_.size() != 1) {
      throw InvalidArgument("an .npy file holds one array, {} given; .npz and .safetensors hold several",
                            entries_.size());
    }
    for (const auto& [name, type] : entries_) {
      in_context([&] { return "tensor " + in_quotes(name); }, [&] { (void)npy_header(type); });
      if (format_ == FileFormat::npy) {
        if (name == npy_name(path_)) return;
        throw InvalidArgument(
            "an .npy file holds no names, and its array is called as the file, {}, got {}; save it without a name, or "
            "as .npz or .safetensors",
            in_quotes(npy_name(path_)), in_quotes(name));
      }
      if (find_invalid_utf8(name) != name.size() || name.find('\0') != std::string::npos) {
        throw InvalidArgument("the name {} is not UTF-8, or has a zero in it", in_quotes(name));
      }
      if (format_ == FileFormat::npz && leaves_folder(name)) {
        throw InvalidArgument(
            "the name {} would be unpacked outside of the archive's folder; expected parts that are not empty and not "
            "'..', separated by '/'",
            in_quotes(name));
      }
    }
  }

  // All at once, since they may share what leads to them; expressions of several devices one by one.
  void evaluate() const {
    try {
      eval(tensors_);
    } catch (const InvalidArgument&) {
      for (const Tensor& t : tensors_) eval(t);
    }
  }

  EntryPieces data(std::size_t i, const gpu::ReadBytes& read) const {
    const auto owner = std::make_shared<const gpu::ReadBytes>(read);
    if (broadcasts_[i]) return EntryPieces(pieces_of(*broadcasts_[i], owner->span(), owner));
    return TensorData{entries_[i].type.dtype, entries_[i].type.shape, owner->span(), owner};
  }

  void write_file(const EntryData& data) const {
    Replacement file(path_);
    file.require_space(data_size(entries_));
    switch (format_) {
      case FileFormat::npy:
        write_npy(file.temporary(), path_.string(), entries_[0].type, data);
        break;
      case FileFormat::npz:
        write_npz(file.temporary(), path_.string(), entries_, data);
        break;
      case FileFormat::safetensors:
        write_safetensors(file.temporary(), path_.string(), layout_, data);
        break;
    }
    file.commit();
  }

  fs::path path_;
  FileFormat format_;
  std::vector<std::optional<BroadcastRead>> broadcasts_;
  std::vector<Tensor> tensors_;  // of a broadcast what it repeats
  std::vector<FileEntry> entries_;
  SafeTensorsLayout layout_;
};

// A single tensor under the name that it gets.
TensorMap only(const fs::path& path, const Tensor& tensor) {
  switch (format_of(path)) {
    case FileFormat::npy:
      return {{npy_name(path), tensor}};
    case FileFormat::npz:
      return {{"arr_0", tensor}};
    case FileFormat::safetensors:
      break;
  }
  return {{"tensor", tensor}};
}

}  // namespace

Tensor load(const fs::path& path) {
  switch (format_to_read(path)) {
    case FileFormat::npy:
      return load_npy(path);
    case FileFormat::npz: {
      const NpzFile file = open_npz(path);
      require_one(path, file.names());
      return uploaded(file.read(0));
    }
    case FileFormat::safetensors:
      break;
  }
  const SafeTensors file = SafeTensors::open(path);
  require_one(path, file.names());
  return uploaded(file.at(file.names()[0]));
}

Tensor load(const fs::path& path, std::string_view name) {
  switch (format_to_read(path)) {
    case FileFormat::npy:
      if (name == npy_name(path)) return load_npy(path);
      throw InvalidArgument("load: {}: there is no array {}; that of an .npy file is called as the file, {}",
                            path.string(), in_quotes(name), in_quotes(npy_name(path)));
    case FileFormat::npz:
      return loaded(open_npz(path), name);
    case FileFormat::safetensors:
      break;
  }
  return uploaded(SafeTensors::open(path).at(name));
}

TensorMap load_all(const fs::path& path) {
  TensorMap tensors;
  switch (format_to_read(path)) {
    case FileFormat::npy:
      tensors.emplace(npy_name(path), load_npy(path));
      break;
    case FileFormat::npz: {
      const NpzFile file = open_npz(path);
      for (std::size_t i = 0; i < file.names().size(); ++i) tensors.emplace(file.names()[i], uploaded(file.read(i)));
      break;
    }
    case FileFormat::safetensors: {
      const SafeTensors file = SafeTensors::open(path);
      for (const std::string& name : file.names()) tensors.emplace(name, uploaded(file.at(name)));
      break;
    }
  }
  return tensors;
}

void save(const fs::path& path, const Tensor& tensor) { save(path, only(path, tensor)); }

void save(const fs::path& path, const TensorMap& tensors, const SafeTensors::Metadata& metadata) {
  in_host_memory("save", [&] { Save(path, tensors, metadata).write(); });
}

Future<void> async_save(const fs::path& path, const Tensor& tensor) { return async_save(path, only(path, tensor)); }

Future<void> async_save(const fs::path& path, const TensorMap& tensors, const SafeTensors::Metadata& metadata) {
  const auto job = std::make_shared<const Save>(path, tensors, metadata);
  return when_all(in_host_memory("save", [&] { return job->start_reads(); }))
      .map([job](const std::vector<gpu::ReadBytes>& read) { job->write(read); });
}

}  // namespace weft
