// All settings in one table: each has a name, an environment variable, a flag of the command line and an option in the
// API. The option takes precedence over the command line, the command line over the environment, the environment over
// the default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class Flag : std::uint8_t {
  device,
  backend,
  minimum_device,
  f16,
  subgroups,
  matrices,
  fusion,
  packed_qkv,
  validation,
  robustness,
  debug_labels,
  precision,
  f16_error_bound,
  force_f16,
  cache_dir,
  memory_limit,
  binding_limit,
  dispatch_limit,
  always_upload,
  dispatch_only,
  dispatch_report,
  dump_values,
  dump_wgsl,
  log,
  profile_to,
  lapack,
};

enum class FlagKind : std::uint8_t {
  text,
  path,    // of a file or a directory
  toggle,  // "on" or "off"; also 1/0, true/false, yes/no
  number,  // at least 0
  bytes,   // with an optional suffix K, M, G or T (powers of 1024)
  count,   // with an optional suffix K, M, G or T (powers of 1000)
  choice,  // one of FlagInfo::choices
};

struct FlagInfo {
  Flag flag;
  FlagKind kind;
  std::string_view name;         // "memory-limit": --memory-limit on the command line
  std::string_view environment;  // "WEFT_MEMORY_LIMIT"
  std::string_view default_value;
  std::string_view help;          // one sentence
  std::string_view choices = {};  // "strict|f16|auto"; case is ignored
  std::uint64_t least = 0;        // the smallest value of bytes and counts
};

// All of them, in the order in which help prints them.
std::span<const FlagInfo> flags();
// The row of one flag.
const FlagInfo& info(Flag flag);

// A variable of the environment that belongs to ./dev, the tests or the benchmarks. The library does not read it.
struct VariableInfo {
  std::string_view name;  // "WEFT_MODEL_DIR"
  std::string_view help;  // one sentence
};
// The environment variables that are no flags; only ./dev, tests and benchmarks read them.
std::span<const VariableInfo> other_variables();

// The current value, read again on each call. Throws InvalidArgument, naming the variable, when it does not parse.
std::string flag_text(Flag flag);
// flag_text() of a flag that is on or off.
bool flag_on(Flag flag);
// flag_text() of a flag that is a number.
double flag_number(Flag flag);
std::optional<std::uint64_t> flag_bytes(Flag flag);  // none: no value given
std::optional<std::uint64_t> flag_count(Flag flag);  // likewise

// Where the value comes from, for messages: "--device" (set_flag()), "WEFT_DEVICE", or "" for the default.
std::string flag_source(Flag flag);

// Checks the value of every flag, also of those that the device in use does not need, and warns, once in a process, of
// unknown_variables(). Opening a device calls it. Throws InvalidArgument, naming the variable or the flag.
void check_flags();
// A sentence for each variable WEFT_… of the environment that neither flags() nor other_variables() has.
std::vector<std::string> unknown_variables();

// Sets the value of the command line, which is checked at once. Throws InvalidArgument.
void set_flag(Flag flag, std::string_view value);
// Forgets all values from set_flag().
void reset_flags();

}  // namespace weft
