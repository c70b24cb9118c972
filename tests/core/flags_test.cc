#include "weft/flags.h"
#include "core/system.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <tuple>

#include "support/throws.h"
#include "weft/device.h"
#include "weft/error.h"

namespace weft {
namespace {

class FlagsTest : public testing::Test {
 protected:
  void TearDown() override {
    reset_flags();
    for (const char* name :
         {"WEFT_FUSION", "WEFT_MEMORY_LIMIT", "WEFT_BACKEND", "WEFT_DEVICE", "WEFT_FUSON", "WEFT_SOMETHING_ELSE"}) {
      unsetenv(name);
    }
  }
};

TEST_F(FlagsTest, TableIsWhole) {
  std::set<std::string_view> names, variables;
  for (const FlagInfo& f : flags()) {
    EXPECT_EQ(&info(f.flag), &f);
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_TRUE(variables.insert(f.environment).second) << f.environment;
    EXPECT_TRUE(f.environment.starts_with("WEFT_"));
    EXPECT_TRUE(f.help.ends_with(".")) << f.help;
  }
  for (const VariableInfo& v : other_variables()) {
    EXPECT_TRUE(variables.insert(v.name).second) << v.name;
    EXPECT_TRUE(v.name.starts_with("WEFT_") && v.help.ends_with(".")) << v.name;
  }
}

TEST_F(FlagsTest, CommandLineWinsOverEnvironmentOverDefault) {
  EXPECT_TRUE(flag_on(Flag::fusion));
  setenv("WEFT_FUSION", "No", 1);
  EXPECT_FALSE(flag_on(Flag::fusion));
  set_flag(Flag::fusion, "on");
  EXPECT_TRUE(flag_on(Flag::fusion));
  reset_flags();
  EXPECT_FALSE(flag_on(Flag::fusion));
  setenv("WEFT_FUSION", "", 1);
  EXPECT_TRUE(flag_on(Flag::fusion));
}

TEST_F(FlagsTest, Bytes) {
  EXPECT_EQ(flag_bytes(Flag::memory_limit), std::nullopt);
  const std::pair<const char*, std::uint64_t> good[] = {
      {"0", 0},           {"17", 17},           {"3K", 3 << 10}, {"512m", 512 << 20},
      {"8G", 8ull << 30}, {"2TiB", 2ull << 40}, {"1kb", 1024}};
  for (const auto& [text, value] : good) {
    set_flag(Flag::memory_limit, text);
    EXPECT_EQ(flag_bytes(Flag::memory_limit), value) << text;
  }
  for (const char* bad : {"x", "-1", "8Q", "8GG", "99999999999T", "1.5G", "8 G"}) {
    EXPECT_THROW(set_flag(Flag::memory_limit, bad), InvalidArgument) << bad;
  }
}

TEST_F(FlagsTest, Counts) {
  EXPECT_EQ(flag_count(Flag::dispatch_limit), std::nullopt);
  for (const auto& [text, value] : {std::pair{"0", 0ull}, {"3K", 3000ull}, {"100g", 100'000'000'000ull}}) {
    set_flag(Flag::dispatch_limit, text);
    EXPECT_EQ(flag_count(Flag::dispatch_limit), value) << text;
  }
  for (const char* bad : {"x", "-1", "8GiB", "8B", "99999999T", "1.5G"}) {
    EXPECT_THROW(set_flag(Flag::dispatch_limit, bad), InvalidArgument) << bad;
  }
}

TEST_F(FlagsTest, Numbers) {
  EXPECT_EQ(flag_number(Flag::f16_error_bound), 1.0 / 128) << "as in weft/compile.h";
  for (const auto& [text, value] : {std::pair{"0", 0.0}, {"0.5", 0.5}, {"1e-3", 1e-3}}) {
    set_flag(Flag::f16_error_bound, text);
    EXPECT_EQ(flag_number(Flag::f16_error_bound), value) << text;
  }
  for (const char* bad : {"", "x", "-1", "nan", "inf", "0.5x", " 1"}) {
    EXPECT_THROW(set_flag(Flag::f16_error_bound, bad), InvalidArgument) << bad;
  }
}

TEST_F(FlagsTest, AWrongValueNamesItsVariable) {
  setenv("WEFT_FUSION", "perhaps", 1);
  try {
    flag_on(Flag::fusion);
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_STREQ(e.what(), "WEFT_FUSION (--fusion) is 'perhaps'; it takes on or off");
  }
}

// Also of the settings that the device in use does not need.
TEST_F(FlagsTest, EveryDeviceTellsWrongValues) {
  EXPECT_NO_THROW(check_flags());
  for (const auto& [variable, value, message] :
       {std::tuple{"WEFT_FUSION", "perhaps", "WEFT_FUSION (--fusion) is 'perhaps'; it takes on or off"},
        {"WEFT_MEMORY_LIMIT", "much",
         "WEFT_MEMORY_LIMIT (--memory-limit) is 'much'; it takes a count of bytes such as "
         "512M or 8G"},
        {"WEFT_BACKEND", "glide",
         "WEFT_BACKEND (--backend) is 'glide'; it takes vulkan|metal|d3d12|opengles|opengl"}}) {
    setenv(variable, value, 1);
    EXPECT_EQ(test::refused_by([] { check_flags(); }), message);
    EXPECT_EQ(test::refused_by([] { Device::open("cpu"); }), message);
    unsetenv(variable);
  }
  EXPECT_EQ(test::refused_by([] { set_flag(Flag::binding_limit, "1000"); }),
            "WEFT_BINDING_LIMIT (--binding-limit) is '1000', expected 4096 or more");
}

TEST_F(FlagsTest, ChoicesIgnoreCase) {
  setenv("WEFT_BACKEND", "Vulkan", 1);
  EXPECT_EQ(flag_text(Flag::backend), "vulkan");
}

TEST_F(FlagsTest, SaysWhereAValueComesFrom) {
  EXPECT_EQ(flag_source(Flag::device), "");
  setenv("WEFT_DEVICE", "CPU", 1);
  EXPECT_EQ(flag_source(Flag::device), "WEFT_DEVICE");
  EXPECT_EQ(Device::open().reason(), "cpu: WEFT_DEVICE asks for it");
  EXPECT_EQ(Device::open("cpu").reason(), "cpu: asked for");
  set_flag(Flag::device, "cpu");
  EXPECT_EQ(Device::open().reason(), "cpu: --device asks for it");
}

TEST_F(FlagsTest, NamesUnknownVariables) {
  if (environment().empty()) GTEST_SKIP() << "this system does not list them";
  EXPECT_THAT(unknown_variables(), testing::IsEmpty());
  setenv("WEFT_FUSON", "off", 1);
  EXPECT_THAT(unknown_variables(),
              testing::ElementsAre("the variable WEFT_FUSON has no meaning; the nearest name is WEFT_FUSION"));
  unsetenv("WEFT_FUSON");
  setenv("WEFT_SOMETHING_ELSE", "1", 1);
  EXPECT_THAT(unknown_variables(), testing::ElementsAre("the variable WEFT_SOMETHING_ELSE has no meaning; `weft "
                                                        "--help-all` lists those that have one"));
}

}  // namespace
}  // namespace weft
