#include "gpu/disk_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <format>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <system_error>
#include <thread>

#include "core/format.h"
#include "weft/log.h"
#include "weft/version.h"

namespace fs = std::filesystem;

namespace weft::gpu {

namespace {

// A file: this header, the key, the value.
struct Header {
  char magic[8];
  std::uint64_t key_size, value_size, checksum;
};
constexpr char kMagic[8] = {'W', 'E', 'F', 'T', 'P', 'S', 'O', '1'};

// FNV-1a over 64-bit words with a final avalanche: detects truncated and corrupt files, not malice.
std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t h = seed ^ 0xCBF29CE484222325ull ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min<std::size_t>(bytes.size(), 8);
    std::memcpy(&word, bytes.data(), n);
    h = (h ^ word) * 0x100000001B3ull;
    h ^= h >> 29;
    bytes = bytes.subspan(n);
  }
  h *= 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

std::uint64_t checksum(std::span<const std::byte> key, std::span<const std::byte> value) {
  return digest(value, digest(key, 1));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Pruning asks the file system for each file's age and size, which takes a fraction of a second for tens of thousands
// of files, and half a minute if none of their metadata is in memory yet. So it runs on a thread of its own. A process
// that exits stops it and waits for the file that is being removed. (Atomics, and a bounded wait, because a forked
// child does not have that thread.)
std::atomic<bool> ends = false;
std::atomic<int> pruning = 0;

void end_pruning() {
  ends = true;
  for (int i = 0; i < 200 && pruning > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void prune_beside(const fs::path& root, std::uint64_t most) {
  static const bool registered = std::atexit(end_pruning) == 0;
  if (!registered) return;
  ++pruning;
  try {
    std::thread([root, most] {
      try {
        DiskCache::prune(root, most, &ends);
      } catch (const std::exception&) {  // then the cache grows
      }
      --pruning;
    }).detach();
  } catch (const std::system_error&) {  // no thread is available
    --pruning;
  }
}

}  // namespace

fs::path DiskCache::root_of(std::string_view setting) {
  if (setting == "off") return {};
  if (!setting.empty()) return fs::path(setting) / "pipelines";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "weft/pipelines";
  }
#if defined(_WIN32)
  if (const std::string local = environment("LOCALAPPDATA"); !local.empty()) return fs::path(local) / "weft/pipelines";
#endif
  const std::string home = environment("HOME");
  if (home.empty()) return {};
#if defined(__APPLE__)
  return fs::path(home) / "Library/Caches/weft/pipelines";
#else
  return fs::path(home) / ".cache/weft/pipelines";
#endif
}

DiskCache& DiskCache::of(const fs::path& root, std::string_view identity) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::string, std::unique_ptr<DiskCache>>;
  std::lock_guard lock(mutex);
  auto& slot = all[std::format("{}\n{}", root.string(), identity)];
  if (!slot) slot.reset(new DiskCache(root, identity));
  return *slot;
}

DiskCache::DiskCache(fs::path root, std::string_view identity)
    : root_(std::move(root)),
      directory_(root_ / WEFT_VERSION / std::format("{:016x}", digest(std::as_bytes(std::span(identity)), 2))) {}

fs::path DiskCache::file_of(std::span<const std::byte> key) const {
  return directory_ / std::format("{:016x}{:016x}", digest(key, 3), digest(key, 4));
}

std::vector<std::byte> DiskCache::load(std::span<const std::byte> key) {
  const auto read = [&]() -> std::vector<std::byte> {
    const fs::path path = file_of(key);
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return {};
    const auto end = file.tellg();
    if (end < static_cast<std::streamoff>(sizeof(Header) + key.size())) return {};
    const auto size = static_cast<std::uint64_t>(end);
    Header header;
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_size != key.size() ||
        header.value_size == 0 || header.value_size != size - sizeof header - key.size()) {
      return {};
    }
    std::vector<std::byte> stored(size - sizeof header);
    if (!file.read(reinterpret_cast<char*>(stored.data()), static_cast<std::streamsize>(stored.size()))) return {};
    const auto stored_key = std::span<const std::byte>(stored).first(key.size());
    const auto value = std::span<const std::byte>(stored).subspan(key.size());
    if (!std::ranges::equal(stored_key, key) || checksum(key, value) != header.checksum) return {};
    // Marks it as used, once a day at most, so that pruning keeps it.
    std::error_code ignored;
    const auto now = fs::file_time_type::clock::now();
    if (now - fs::last_write_time(path, ignored) > std::chrono::hours(24)) fs::last_write_time(path, now, ignored);
    return {value.begin(), value.end()};
  };
  try {
    auto value = read();
    ++(value.empty() ? misses_ : hits_);
    return value;
  } catch (const std::exception& e) {
    log(LogLevel::debug, "shader cache: {}", e.what());
    ++misses_;
    return {};
  }
}

void DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> value) {
  if (!writable_ || value.empty()) return;
  fs::path temporary;
  try {
    std::call_once(prepared_, [&] {
      fs::create_directories(directory_);
      prune_beside(root_, kMaxBytes);
    });
    // Another process may write the same entry: each writes a file of its own, and renaming is atomic.
    static const std::uint64_t process = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
    static std::atomic<std::uint64_t> count = 0;
    const fs::path path = file_of(key);
    temporary = path;
    temporary += std::format(".{:016x}-{}.tmp", process, count++);
    Header header{{}, key.size(), value.size(), checksum(key, value)};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(reinterpret_cast<const char*>(key.data()), static_cast<std::streamsize>(key.size()));
    file.write(reinterpret_cast<const char*>(value.data()), static_cast<std::streamsize>(value.size()));
    file.close();
    if (!file) throw std::runtime_error(std::format("{} cannot be written", temporary.string()));
    fs::rename(temporary, path);
    ++stores_;
  } catch (const std::exception& e) {
    // A full or read-only disk will fail for the next entry as well.
    writable_ = false;
    log(LogLevel::debug, "shader cache: nothing is stored any more: {}", e.what());
    std::error_code ignored;
    if (!temporary.empty()) fs::remove(temporary, ignored);
  }
}

void DiskCache::prune(const fs::path& root, std::uint64_t most, const std::atomic<bool>* stop) {
  struct File {
    fs::path path;
    fs::file_time_type time;
    std::uint64_t size;
  };
  const auto stopped = [&] { return stop && *stop; };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    if (stopped()) return;
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    File f{it->path(), it->last_write_time(ignored), it->file_size(ignored)};
    if (ignored) continue;
    if (f.path.extension() == ".tmp" && now - f.time > std::chrono::hours(1)) {
      fs::remove(f.path, ignored);  // its writer ended before renaming it
      continue;
    }
    total += f.size;
    files.push_back(std::move(f));
  }
  if (total <= most) return;
  std::ranges::sort(files, {}, &File::time);
  for (const File& f : files) {
    if (stopped() || total <= most / 4 * 3) break;
    std::error_code failed;
    fs::remove(f.path, failed);
    if (!failed) total -= f.size;  // also if another process removed it first
  }
}

}  // namespace weft::gpu
