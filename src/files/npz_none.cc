// The .npz format where Weft was built without libzip: it is refused.
#include "core/format.h"
#include "files/npz.h"
#include "weft/error.h"

namespace weft {

namespace {

[[noreturn]] void refuse(const std::string& source) {
  throw Unsupported("{}: this build of Weft has no .npz files; .npy and .safetensors it has", source);
}

}  // namespace

NpzFile::NpzFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string source)
    : owner_(std::move(owner)), source_(std::move(source)), size_(bytes.size()) {
  refuse(source_);
}

NpzFile::~NpzFile() = default;

NpyArray NpzFile::read(std::size_t) const { refuse(source_); }

void write_npz(const std::filesystem::path&, std::string source, std::span<const FileEntry>, const EntryData&) {
  refuse(source);
}

}  // namespace weft
