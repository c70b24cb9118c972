#include "weft/device.h"

#include <dawn/native/DawnNative.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/compiler.h"
#include "gpu/driver_problems.h"
#include "gpu/kernel.h"
#include "gpu/score.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft::test {
namespace {

void expect_works(gpu::Device device) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3}), b = device.allocate(12);
  gpu::Encoder encoder(device);
  affine(encoder, a, b, {3, 3, 1});
  gpu::Readback read = encoder.read(b, 0, 12);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{4, 7, 10}));
}

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "no adapter here";
  }
  void TearDown() override { reset_flags(); }
  gpu::Device& device() { return devices().front().device; }
};

// A driver that does not start would skip its tests silently.
TEST(Devices, RequiredOnesAreThere) {
  const char* required = std::getenv("WEFT_REQUIRE_DEVICES");
  const char* wanted = std::getenv("WEFT_TEST_DEVICES");
  if (!required || (wanted && *wanted)) GTEST_SKIP() << "none is required";
  std::istringstream names(required);
  for (std::string name; std::getline(names, name, ',');) {
    EXPECT_THAT(device_names(), testing::Contains(name));
  }
}

// Nothing but the library has asked for it in this program; without it there is no OpenGL ES on a host without display.
TEST_F(DeviceTest, OpenGlNeedsNoDisplay) {
#ifdef __linux__
  if (!WEFT_POSIX || std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY")) GTEST_SKIP() << "not here";
  ASSERT_TRUE(std::getenv("EGL_PLATFORM"));
  EXPECT_STREQ(std::getenv("EGL_PLATFORM"), "surfaceless");
#endif
}

// Dawn unloads them with the adapters that it has listed, and a thread of theirs that has not begun yet would end the
// process.
TEST_F(DeviceTest, DriversOfOpenGlStayLoaded) {
#ifdef __linux__
  const auto all = gpu::adapters();
  if (std::ranges::none_of(all, [](const gpu::AdapterInfo& a) { return a.backend.starts_with("opengl"); }))
    GTEST_SKIP() << "no OpenGL here";
  std::ifstream maps("/proc/self/maps");
  const std::string loaded{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(loaded, testing::HasSubstr("/libEGL"));
#endif
}

TEST_F(DeviceTest, AdaptersAreRanked) {
  const auto all = gpu::adapters();
  bool software = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index, static_cast<int>(i));
    EXPECT_FALSE(software && !all[i].software()) << "hardware comes before software";
    software = all[i].software();
    EXPECT_FALSE(all[i].name.empty());
    EXPECT_FALSE(all[i].backend.empty());
    EXPECT_GE(all[i].limits.maxComputeInvocationsPerWorkgroup, 128u);
  }
}

TEST_F(DeviceTest, EqualsAreRankedByWhatTheyDo) {
  const auto make = [](std::string name, std::string type, std::string backend = "vulkan") {
    gpu::FoundAdapter f{};
    f.info.name = std::move(name);
    f.info.type = std::move(type);
    f.info.backend = std::move(backend);
    return f;
  };
  std::vector<gpu::FoundAdapter> all = {
      make("slow", "discrete"),          make("fast", "discrete"), make("slow", "discrete"), make("one", "integrated"),
      make("two", "discrete", "opengl"), make("x", "cpu"),         make("y", "cpu")};
  std::vector<std::string> measured, order;
  gpu::order_by_score(all, [&](const gpu::FoundAdapter& f) {
    measured.push_back(f.info.name);
    return f.info.name == "fast" ? 20.0 : 10.0;
  });
  for (const auto& f : all) order.push_back(f.info.name);
  EXPECT_EQ(order, (std::vector<std::string>{"fast", "slow", "slow", "one", "two", "x", "y"}));
  EXPECT_EQ(measured, (std::vector<std::string>{"slow", "fast"})) << "each model once, and only where it decides";
}

TEST_F(DeviceTest, TheScoreIsMeasuredOnceAndKept) {
  const auto directory = std::filesystem::temp_directory_path() / std::format("weft-score-{}", std::random_device{}());
  set_flag(Flag::cache_dir, directory.string());
  const gpu::FoundAdapter& adapter = gpu::found_adapters().front();
  const double first = gpu::measured_score(adapter);
  EXPECT_GT(first, 0.05);
  EXPECT_LT(first, 1e5);
  EXPECT_EQ(gpu::measured_score(adapter), first);
  std::filesystem::remove_all(directory);
}

TEST_F(DeviceTest, OpenByIndexBackendAndPartOfTheName) {
  const gpu::AdapterInfo first = gpu::adapters().front();
  EXPECT_EQ(gpu::Device::open({.adapter = "0"}).adapter().index, 0);
  EXPECT_EQ(gpu::Device::open({.adapter = first.backend}).adapter().backend, first.backend);
  std::string part = first.name.substr(0, 5);
  for (char& c : part) c = static_cast<char>(std::toupper(c));
  const gpu::Device named = gpu::Device::open({.adapter = part});
  EXPECT_EQ(named.adapter().name, first.name);
  EXPECT_THAT(named.reason(), testing::HasSubstr(first.name));
  EXPECT_THAT(named.reason(), testing::HasSubstr("asked for"));
  expect_works(named);
}

TEST_F(DeviceTest, AnUnknownNameListsWhatThereIs) {
  for (const char* name : {"GeForce 9", "99", "-1"}) {
    try {
      gpu::Device::open({.adapter = name});
      FAIL() << name;
    } catch (const InvalidArgument& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(gpu::adapters().front().name));
    }
  }
}

TEST_F(DeviceTest, FlagsChoose) {
  const auto all = gpu::adapters();
  set_flag(Flag::device, std::to_string(all.back().index));
  EXPECT_EQ(gpu::Device::open().adapter().index, all.back().index);
  EXPECT_EQ(Device::open().gpu().adapter().index, all.back().index);
  EXPECT_EQ(gpu::Device::open({.adapter = "0"}).adapter().index, 0) << "the option wins";
  set_flag(Flag::device, "cpu");
  EXPECT_FALSE(Device::open().is_gpu());
  set_flag(Flag::device, "nothing like it");
  EXPECT_THROW(gpu::Device::open(), InvalidArgument);
  EXPECT_THROW(Device::open(), InvalidArgument);
  set_flag(Flag::device, "");
  set_flag(Flag::backend, all.back().backend);
  EXPECT_EQ(gpu::Device::open().adapter().backend, all.back().backend);
  EXPECT_THROW(set_flag(Flag::backend, "glide"), InvalidArgument);
  for (const char* backend : {"metal", "d3d12", "vulkan"}) {  // no system has all of them
    if (std::ranges::find(all, backend, &gpu::AdapterInfo::backend) != all.end()) continue;
    set_flag(Flag::backend, backend);
    EXPECT_THROW(gpu::Device::open(), NoDevice);
    EXPECT_THROW(Device::open(), NoDevice);
  }
}

TEST_F(DeviceTest, TheMinimumDeviceIsThat) {
  gpu::DeviceOptions options = like(device());
  options.minimum = true;
  gpu::Device small = gpu::Device::open(options);
  const gpu::Capabilities& c = small.capabilities();
  EXPECT_FALSE(c.f16 || c.subgroups || c.timestamps || c.timestamps_inside_passes || !c.matrix_shapes.empty());
  EXPECT_EQ(c.subgroup_max, 0u);
  EXPECT_EQ(c.max_workgroup_size, 128u);
  EXPECT_EQ(c.max_workgroup_memory, 16384u);
  EXPECT_EQ(c.max_storage_buffers, 8u);
  EXPECT_EQ(c.max_workgroups, 65535u);
  EXPECT_EQ(c.storage_alignment, 256u);
  EXPECT_EQ(c.max_binding, 128u << 20);
  expect_works(small);
}

TEST_F(DeviceTest, FastPathsCanBeTurnedOff) {
  const gpu::Capabilities& all = device().capabilities();
  gpu::DeviceOptions options = like(device());
  options.f16 = false;
  EXPECT_FALSE(gpu::Device::open(options).capabilities().f16);
  set_flag(Flag::subgroups, "off");
  EXPECT_FALSE(gpu::Device::open(like(device())).capabilities().subgroups);
  reset_flags();
  options = like(device());
  options.matrices = false;
  options.timestamps = false;
  const gpu::Device plain = gpu::Device::open(options);
  EXPECT_TRUE(plain.capabilities().matrix_shapes.empty());
  EXPECT_FALSE(plain.capabilities().timestamps);
  EXPECT_EQ(plain.capabilities().f16, all.f16);
  EXPECT_EQ(plain.capabilities().subgroups, all.subgroups);
}

TEST_F(DeviceTest, TrustedAndLabelledDevicesWork) {
  gpu::DeviceOptions options = like(device());
  options.validation = options.robustness = false;
  expect_works(gpu::Device::open(options));
  options = like(device());
  options.debug_labels = true;
  expect_works(gpu::Device::open(options));
}

TEST_F(DeviceTest, ALostDeviceSaysSoEverywhereAndCanBeOpenedAgain) {
  gpu::Device lost = gpu::Device::open(like(device()));
  Buffer a = upload<std::uint32_t>(lost, {1, 2, 3}), b = lost.allocate(12);
  gpu::Recording recording(lost);
  affine(recording, a, b, {3, 1, 0});
  gpu::Encoder encoder(lost);
  encoder.replay(recording);
  gpu::Readback unsubmitted = encoder.read(b, 0, 12), submitted = lost.read(a, 0, 12);
  std::exception_ptr told;
  lost.read(a, 0, 4).then([&](gpu::Readback read) {
    try {
      read.get();
    } catch (...) {
      told = std::current_exception();
    }
  });
  lost.webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out for the test");
  try {
    lost.allocate(4);
    FAIL();
  } catch (const DeviceLost& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("pulled out for the test"));
  }
  EXPECT_THROW(lost.upload(a, 0, std::vector<std::byte>(4)), DeviceLost);
  EXPECT_THROW(lost.read(a, 0, 4), DeviceLost);
  EXPECT_THROW(lost.wait(), DeviceLost);
  EXPECT_THROW(affine(encoder, a, b, {3, 1, 0}), DeviceLost);
  EXPECT_THROW(affine(recording, a, b, {3, 1, 0}), DeviceLost);
  EXPECT_THROW(encoder.replay(recording), DeviceLost);
  EXPECT_THROW(encoder.copy(a, 0, b, 0, 4), DeviceLost);
  EXPECT_THROW(encoder.submit(), DeviceLost);
  EXPECT_THROW(unsubmitted.get(), DeviceLost);
  // Work that had reached the GPU before may still have come back.
  try {
    submitted.get();
  } catch (const DeviceLost&) {
  }
  EXPECT_NO_THROW(lost.poll());
  EXPECT_NO_THROW(lost.trim());
  expect_works(gpu::Device::open(like(device())));
}

TEST_F(DeviceTest, ADestroyedDeviceIsLost) {
  gpu::Device gone = gpu::Device::open(like(device()));
  gone.webgpu().Destroy();
  EXPECT_THROW(gone.allocate(4), DeviceLost);
  EXPECT_THROW(gone.wait(), DeviceLost);
}

TEST_F(DeviceTest, ClosingWithReadsInFlight) {
  std::optional<gpu::Device> closing = gpu::Device::open(like(device()));
  Buffer a = upload<std::uint32_t>(*closing, {1});
  gpu::Readback read = closing->read(a, 0, 4);
  int calls = 0;
  closing->read(a, 0, 4).then([&](auto) { ++calls; });
  closing.reset();
  EXPECT_EQ(calls, 1);
  try {
    EXPECT_EQ(as<std::uint32_t>(read.get()), std::vector<std::uint32_t>{1});
  } catch (const DeviceLost&) {
  }
}

// The caller's own device, from the caller's own instance: without features, and without timed waits.
wgpu::Device callers_device(bool timed_wait) {
  const wgpu::InstanceFeatureName features[] = {wgpu::InstanceFeatureName::TimedWaitAny};
  wgpu::InstanceDescriptor descriptor;
  descriptor.requiredFeatures = features;
  descriptor.requiredFeatureCount = timed_wait ? 1 : 0;
  static std::vector<std::unique_ptr<dawn::native::Instance>> kept;
  kept.push_back(std::make_unique<dawn::native::Instance>(&descriptor));
  for (const dawn::native::Adapter& a : kept.back()->EnumerateAdapters()) {
    wgpu::Adapter adapter(a.Get());
    wgpu::DeviceDescriptor wanted;
    if (wgpu::Device made = adapter.CreateDevice(&wanted)) return made;
  }
  return nullptr;
}

TEST_F(DeviceTest, AdoptsACallersDevice) {
  EXPECT_THROW(gpu::Device::adopt(nullptr), InvalidArgument);
  for (const bool timed_wait : {false, true}) {
    wgpu::Device callers = callers_device(timed_wait);
    ASSERT_TRUE(callers);
    {
      gpu::Device device = gpu::Device::adopt(callers, timed_wait);
      EXPECT_EQ(device.webgpu().Get(), callers.Get());
      EXPECT_FALSE(device.capabilities().f16) << "not asked for when it was made";
      EXPECT_FALSE(device.adapter().name.empty());
      EXPECT_THAT(device.reason(), testing::HasSubstr("the caller's device"));
      expect_works(device);
      // Errors are caught in scopes; the caller's handlers are not needed.
      gpu::Encoder encoder(device);
      const gpu::Binding bindings[] = {{device.allocate(4), 0, 4, gpu::Access::read_write}};
      EXPECT_THROW(
          encoder.dispatch(
              {.key = "bad", .make_wgsl = [] { return "nonsense  // wrong on purpose"; }, .bindings = bindings}),
          ValidationError);
      bool called = false;
      device.read(bindings[0].buffer, 0, 4).then([&](auto) { called = true; });
      device.wait();
      EXPECT_TRUE(called);
    }
    // Destroying Weft's handle does not affect the caller's device.
    gpu::Device again = gpu::Device::adopt(callers);
    expect_works(again);
    callers.Destroy();
    EXPECT_THROW(again.allocate(4), DeviceLost);
    EXPECT_THROW(again.wait(), DeviceLost);
  }
}

TEST_F(DeviceTest, AnyDeviceIsTheCpuOrAGpu) {
  Device cpu = Device::cpu();
  EXPECT_FALSE(cpu.is_gpu());
  EXPECT_EQ(cpu.name(), "cpu");
  EXPECT_THROW(cpu.gpu(), InvalidArgument);
  EXPECT_EQ(Device(), cpu);
  Device gpu = device();
  EXPECT_TRUE(gpu.is_gpu());
  EXPECT_FALSE(gpu == cpu);
  EXPECT_EQ(gpu, Device(device()));
  for (const Device& d : {cpu, gpu}) {
    Buffer b = d.allocate(5);
    const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
    d.upload(b, 1, bytes);
    EXPECT_EQ(d.read(b, 1, 3), std::vector<std::byte>(bytes.begin(), bytes.end()));
    std::array<std::byte, 2> some;
    d.read(b, 2, some);
    EXPECT_EQ(some[1], std::byte{3});
    EXPECT_THROW(d.upload(b, 3, bytes), InvalidArgument);
    EXPECT_THROW(d.read(b, 6, 0), InvalidArgument);
    d.wait();
  }
  EXPECT_THROW(cpu.upload(gpu.allocate(4), 0, std::vector<std::byte>(4)), InvalidArgument);
}

TEST_F(DeviceTest, SoftwareIsOnlyTakenWhenAskedFor) {
  const Device best = Device::open();
  const bool hardware = !gpu::adapters().front().software();
  EXPECT_EQ(best.is_gpu(), hardware);
  EXPECT_THAT(best.reason(), testing::HasSubstr(best.name()));
  if (!hardware) {
    EXPECT_THAT(best.reason(), testing::HasSubstr(gpu::adapters().front().name));
    EXPECT_THROW(Device::open("gpu"), NoDevice);
    EXPECT_TRUE(Device::open(gpu::adapters().front().name).is_gpu());
  }
  EXPECT_FALSE(Device::open("cpu").is_gpu());
}

#ifdef __linux__
// A driver whose libraries are missing is named, with the one that is.
TEST(NoAdapter, SaysWhatDriversMiss) {
  const auto folder = std::filesystem::temp_directory_path() / "weft_drivers_test";
  std::filesystem::create_directories(folder);
  const auto manifest = [&](const char* file, const char* text) {
    std::ofstream(folder / file) << text;
    return (folder / file).string();
  };
  const std::string missing = manifest("a.json", R"({"ICD": {"library_path": "libGLX_nvidia.so.999"}})");
  const std::string broken = manifest("b.json", "{");
  const char* const before = std::getenv("VK_DRIVER_FILES");
  const std::string kept = before ? before : "";
  setenv("VK_DRIVER_FILES", (missing + ":" + broken + ":/nonexistent.json").c_str(), 1);
  const auto problems = gpu::driver_problems();
  before ? setenv("VK_DRIVER_FILES", kept.c_str(), 1) : unsetenv("VK_DRIVER_FILES");
  std::filesystem::remove_all(folder);
  using testing::AllOf, testing::Contains, testing::HasSubstr;
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("libGLX_nvidia.so.999: cannot open"), HasSubstr(missing),
                                       HasSubstr("libxext6"))));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr(broken), HasSubstr("does not name"))));
  EXPECT_THAT(problems, Contains(HasSubstr("/nonexistent.json, which is not there")));
}
#endif

// A process in which no driver is found.
TEST(NoAdapter, IsTypedAndTheCpuIsTaken) {
  if (!std::filesystem::exists(testing::internal::GetArgvs()[0])) {
    GTEST_SKIP() << "a bundle's launcher cannot start a second process";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::pair<const char*, const char*> hidden[] = {{"VK_DRIVER_FILES", "/nonexistent"},
                                                        {"VK_ICD_FILENAMES", "/nonexistent"},
                                                        {"__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent"}};
  std::map<std::string, std::optional<std::string>> before;
  for (const auto& [name, value] : hidden) {
    before[name] = std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
    setenv(name, value, 1);
  }
  EXPECT_EXIT(
      {
        std::string said;
        try {
          gpu::Device::open();
        } catch (const NoDevice& e) {
          said = e.what();
        }
        try {
          Device::open("gpu");
          said.clear();
        } catch (const NoDevice&) {
        }
        std::fprintf(stderr, "%s|%s|", said.c_str(), Device::open().reason().c_str());
        std::exit(gpu::adapters().empty() && !said.empty() && !Device::open().is_gpu() ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "^no GPU adapter; adapters here: none .*VK_DRIVER_FILES names /nonexistent.*\\|cpu: no hardware GPU\\|");
  for (const auto& [name, value] : before) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
}

}  // namespace
}  // namespace weft::test
