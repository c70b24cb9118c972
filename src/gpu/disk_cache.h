// Compiled shaders on disk, behind Dawn's blob cache. A file that is corrupt, foreign or not readable counts as absent,
// and every error here is only a debug message: a cache may cost time, never a result.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::gpu {

class DiskCache {
 public:
  // The cache of one device identity (adapter, driver) under `root`; the same object for the same arguments. It lives
  // as long as the process, since Dawn's threads call it.
  static DiskCache& of(const std::filesystem::path& root, std::string_view identity);
  // The directory that Flag::cache_dir names: `setting`, or weft in the user's cache directory if it is empty. Empty
  // for "off", or if the user has no home directory.
  static std::filesystem::path root_of(std::string_view setting);

  // Empty if there is none.
  std::vector<std::byte> load(std::span<const std::byte> key);
  void store(std::span<const std::byte> key, std::span<const std::byte> value);

  struct Figures {
    std::uint64_t hits = 0, misses = 0, stores = 0;
  };
  Figures figures() const { return {hits_, misses_, stores_}; }

  // If the files under the root exceed `most` bytes, removes the least recently used until three quarters of that
  // remain, or until `stop` is true. Several processes may do so at once. The first store() of a process starts it in
  // the background.
  static void prune(const std::filesystem::path& root, std::uint64_t most, const std::atomic<bool>* stop = nullptr);
  static constexpr std::uint64_t kMaxBytes = 256 << 20;

 private:
  DiskCache(std::filesystem::path root, std::string_view identity);
  std::filesystem::path file_of(std::span<const std::byte> key) const;

  std::filesystem::path root_, directory_;
  std::atomic<bool> writable_ = true;
  std::once_flag prepared_;
  std::atomic<std::uint64_t> hits_ = 0, misses_ = 0, stores_ = 0;
};

}  // namespace weft::gpu
