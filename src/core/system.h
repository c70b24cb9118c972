// What Weft asks of the operating system beyond the C++ library. system_posix.cc answers on POSIX; elsewhere
// system_standard.cc, in standard C++, with what each comment says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

// Bytes of memory of this machine, or of the container that the process runs in if that has less. A system that
// overcommits memory reports a shortage only when the bytes are touched. Elsewhere: as many as have addresses.
std::uint64_t physical_memory();

// A number that no other process of this machine has now. Elsewhere: a random one.
std::uint64_t process_id();

// Sets a variable of this process that is not set. Not while another thread reads or changes variables. Elsewhere: does
// nothing.
void set_environment_default(const char* name, const char* value);

// The environment variables of this process, as "NAME=value". Elsewhere: none.
std::vector<std::string> environment();

// Seconds of processors: of all of them, how many they were busy, and those of this process. Elsewhere, and where the
// system does not tell (it is Linux's /proc/stat): zeros.
struct ProcessorTimes {
  double total = 0, busy = 0, own = 0;
};
ProcessorTimes processor_times();

// The bytes of a regular file, mapped, so that only the pages that are read take memory; `owner` unmaps them. An empty
// file has no owner. Throws IoError with the system's reason. Elsewhere: nothing, and the caller reads the file.
struct MappedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
std::optional<MappedBytes> map_file(const std::filesystem::path& path);

// A stream that writes to what a descriptor of this process is open on, from where it stands; null, with errno, if it
// is not open. Elsewhere: null.
std::FILE* open_descriptor(int descriptor);

// Loads a shared library, as the system finds it, for good. What it says if it cannot: it names the library, or the one
// that this needs and that is missing. Elsewhere: nothing.
std::optional<std::string> cannot_load(const std::string& library);

// Calls f in each child that fork() makes of this process from now on. Elsewhere: does nothing.
void call_in_children(void (*f)());

// From now on this process ends by _exit(), when what C's streams hold was written: without destructors and handlers of
// its end that were set up before. Where the C library is not GNU's, and elsewhere: does nothing.
void end_without_handlers();

// Gives a file the owner and the group of another, as far as this process may. Elsewhere: does nothing.
void copy_owner(const std::filesystem::path& from, const std::filesystem::path& to);

// Reads the pages of mapped memory, so that the first access does not wait for each page. Elsewhere: does nothing.
void prefetch(std::span<const std::byte> bytes);

// Runs f and returns what the process wrote to standard error meanwhile, which is not shown. Exceptions of f are
// rethrown when `heard` has received that text. Elsewhere, and where there is no temporary file, standard error is
// shown and `heard` is not called.
void capture_stderr(const std::function<void()>& f, const std::function<void(const std::string&)>& heard);

}  // namespace weft
