#include "gpu/disk_cache.h"

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "gpu/kernel.h"
#include "weft/error.h"

namespace fs = std::filesystem;

namespace weft::test {
namespace {

using gpu::DiskCache;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto b = std::as_bytes(std::span(text));
  return {b.begin(), b.end()};
}

class DiskCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { fs::remove_all(root); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& f : fs::recursive_directory_iterator(root)) {
      if (f.is_regular_file()) out.push_back(f.path());
    }
    return out;
  }

  fs::path root;
  std::vector<std::byte> key = bytes_of("a key"), value = bytes_of("a compiled shader, long enough to be cut");
};

TEST_F(DiskCacheTest, KeepsWhatIsStored) {
  DiskCache& cache = DiskCache::of(root, "device");
  EXPECT_TRUE(cache.load(key).empty());
  cache.store(key, value);
  EXPECT_EQ(cache.load(key), value);
  EXPECT_TRUE(cache.load(bytes_of("another key")).empty());
  EXPECT_TRUE(DiskCache::of(root, "another device").load(key).empty());
  const auto newer = bytes_of("newer");
  cache.store(key, newer);
  EXPECT_EQ(cache.load(key), newer);
  EXPECT_EQ(files().size(), 1u) << "no temporary file is left";
  EXPECT_EQ(cache.figures().hits, 2u);
  EXPECT_EQ(cache.figures().stores, 2u);
}

TEST_F(DiskCacheTest, EveryTornOrRottenFileCountsAsAbsent) {
  DiskCache& cache = DiskCache::of(root, "rot");
  cache.store(key, value);
  const fs::path path = files().at(0);
  std::vector<char> good(fs::file_size(path));
  std::ifstream(path, std::ios::binary).read(good.data(), static_cast<std::streamsize>(good.size()));
  const auto write = [&](std::span<const char> content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<char> bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    write(bad);
    EXPECT_TRUE(cache.load(key).empty()) << "byte " << i;
    write(std::span(good).first(i));
    EXPECT_TRUE(cache.load(key).empty()) << "cut at " << i;
  }
  std::vector<char> longer = good;
  longer.push_back('x');
  write(longer);
  EXPECT_TRUE(cache.load(key).empty());
  write(good);
  EXPECT_EQ(cache.load(key), value);
  cache.store(key, value);
  EXPECT_EQ(cache.load(key), value) << "and is replaced";
}

TEST_F(DiskCacheTest, AForeignFileUnderTheSameNameIsNotTaken) {
  DiskCache& cache = DiskCache::of(root, "foreign");
  cache.store(key, value);
  const fs::path mine = files().at(0);
  cache.store(bytes_of("other"), bytes_of("other's value"));
  for (const fs::path& f : files()) {
    if (f != mine) fs::copy_file(f, mine, fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(cache.load(key).empty());
}

TEST_F(DiskCacheTest, APlaceThatCannotBeWrittenIsSurvived) {
  // A file in place of the directory also stops root, for whom permissions do not apply.
  std::ofstream(root / "file") << "in the way";
  DiskCache& cache = DiskCache::of(root / "file", "device");
  EXPECT_NO_THROW(cache.store(key, value));
  EXPECT_TRUE(cache.load(key).empty());
  EXPECT_EQ(cache.figures().stores, 0u);
  // Its own directory is replaced by a file between two stores.
  DiskCache& later = DiskCache::of(root / "later", "device");
  later.store(key, value);
  fs::remove_all(root / "later");
  EXPECT_NO_THROW(later.store(key, value));
  EXPECT_TRUE(later.load(key).empty());
}

TEST_F(DiskCacheTest, AFullDiskIsSurvived) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  DiskCache& cache = DiskCache::of("/dev/full", "device");
  EXPECT_NO_THROW(cache.store(key, value));
  EXPECT_TRUE(cache.load(key).empty());
}

TEST_F(DiskCacheTest, ManyWritersOfOneEntry) {
  DiskCache& cache = DiskCache::of(root, "threads");
  const std::vector<std::byte> large(100'000, std::byte{7});
  std::vector<std::thread> threads;
  std::atomic<int> torn = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        cache.store(key, large);
        if (cache.load(key) != large) ++torn;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCacheTest, PruningTakesTheOldest) {
  DiskCache& cache = DiskCache::of(root, "prune");
  const auto now = fs::file_time_type::clock::now();
  std::map<fs::path, int> age;
  for (int i = 0; i < 10; ++i) {
    cache.store(bytes_of(std::to_string(i)), std::vector<std::byte>(10'000, std::byte{1}));
    for (const fs::path& f : files()) {
      if (age.emplace(f, i).second) fs::last_write_time(f, now - std::chrono::hours(10 - i));
    }
  }
  std::ofstream(root / "left.tmp") << "by a writer that died";
  fs::last_write_time(root / "left.tmp", now - std::chrono::hours(2));
  DiskCache::prune(root, 1 << 20);
  EXPECT_EQ(files().size(), 10u);
  DiskCache::prune(root, 60'000);
  EXPECT_LE(files().size(), 5u);
  EXPECT_GE(files().size(), 4u);
  for (const fs::path& f : files()) EXPECT_GE(age.at(f), 5);
}

// Many small files, more than the cache may hold: storing does not wait until they are pruned, and they are pruned.
TEST_F(DiskCacheTest, StoringDoesNotWaitForPruning) {
  constexpr int kFiles = 3000, kRoots = 3;
  constexpr std::uint64_t kEach = 2 * DiskCache::kMaxBytes / kFiles;
  const auto fill = [&](const fs::path& folder) {
    fs::create_directories(folder);
    for (int i = 0; i < kFiles; ++i) {
      const fs::path file = folder / std::format("{:016x}", i);
      std::ofstream(file).put('x');
      fs::resize_file(file, kEach);  // a sparse file, which takes no space
    }
  };
  const auto size_of = [](const fs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& f : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
      std::error_code gone;
      const std::uint64_t size = f.file_size(gone);
      if (!gone && f.is_regular_file(gone)) bytes += size;
    }
    return bytes;
  };
  using Clock = std::chrono::steady_clock;
  // The fastest of several, because the machine may be busy.
  auto storing = Clock::duration::max(), pruning = Clock::duration::max();
  for (int k = 0; k < kRoots; ++k) {
    const fs::path folder = root / std::format("stored{}", k), other = root / std::format("pruned{}", k);
    fill(folder);
    fill(other);
    auto start = Clock::now();
    DiskCache::prune(other, DiskCache::kMaxBytes);
    pruning = std::min(pruning, Clock::now() - start);
    start = Clock::now();
    DiskCache::of(folder, "device").store(key, value);
    storing = std::min(storing, Clock::now() - start);
    EXPECT_EQ(DiskCache::of(folder, "device").load(key), value);
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (size_of(folder) > DiskCache::kMaxBytes && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_LE(size_of(folder), DiskCache::kMaxBytes);
    EXPECT_EQ(DiskCache::of(folder, "device").load(key), value) << "the newest is kept";
  }
  EXPECT_LT(storing, pruning / 4);
}

TEST_F(DiskCacheTest, PruningEndsWhenItIsTold) {
  DiskCache& cache = DiskCache::of(root, "stop");
  for (int i = 0; i < 5; ++i) cache.store(bytes_of(std::to_string(i)), value);
  const std::atomic<bool> stop = true;
  DiskCache::prune(root, 1, &stop);
  EXPECT_EQ(files().size(), 5u);
}

TEST_F(DiskCacheTest, WhereItIs) {
  EXPECT_TRUE(DiskCache::root_of("off").empty());
  EXPECT_EQ(DiskCache::root_of("/some/where"), fs::path("/some/where/pipelines"));
}

TEST_F(DiskCacheTest, ASecondDeviceFindsWhatTheFirstCompiled) {
  for (const TestDevice& d : devices()) {
    const auto compile = [&] {
      gpu::DeviceOptions options;
      options.adapter = std::to_string(d.device.adapter().index);
      options.minimum = d.name == "minimum" || d.name == "opengles";
      options.cache_dir = (root / d.name).string();
      gpu::Device device = gpu::Device::open(options);
      Buffer a = upload<std::uint32_t>(device, {1, 2, 3}), b = device.allocate(12);
      gpu::Encoder encoder(device);
      affine(encoder, a, b, {3, 3, 1});
      gpu::Readback read = encoder.read(b, 0, 12);
      encoder.submit();
      EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{4, 7, 10}));
    };
    const gpu::AdapterInfo& a = d.device.adapter();
    DiskCache& cache = DiskCache::of(DiskCache::root_of((root / d.name).string()),
                                     std::format("{}|{}|{}|{}", a.name, a.vendor, a.driver, a.backend));
    compile();
    const auto cold = cache.figures();
    EXPECT_GT(cold.stores, 0u) << d.name;
    EXPECT_EQ(cold.hits, 0u) << d.name;
    compile();
    EXPECT_GT(cache.figures().hits, 0u) << d.name;
    EXPECT_EQ(cache.figures().stores, cold.stores) << d.name;
    // A corrupt cache only costs time.
    for (const fs::path& f : files()) fs::resize_file(f, fs::file_size(f) / 2);
    compile();
  }
}

}  // namespace
}  // namespace weft::test
