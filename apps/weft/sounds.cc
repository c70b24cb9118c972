#include "sounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/mapped_file.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/tensor_data.h"

namespace weft::app {
namespace {

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < width; ++i) n |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + i])} << 8 * i;
  return n;
}

struct SampleFormat {
  bool floats = false;
  std::size_t bits = 0;

  float read(std::string_view bytes, std::size_t at) const {
    const std::uint64_t n = number(bytes, at, bits / 8);
    if (floats) {
      return bits == 32 ? std::bit_cast<float>(static_cast<std::uint32_t>(n))
                        : static_cast<float>(std::bit_cast<double>(n));
    }
    if (bits == 8) return (static_cast<float>(n) - 128) / 128;  // the only ones without a sign
    const std::int64_t whole = static_cast<std::int64_t>(n << (64 - bits)) >> (64 - bits);
    return static_cast<float>(std::ldexp(static_cast<double>(whole), 1 - static_cast<int>(bits)));
  }
};

}  // namespace

Sound read_wav(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const std::string_view all = file.text();
  if (all.size() < 12 || !all.starts_with("RIFF") || all.substr(8, 4) != "WAVE")
    throw FormatError("{}: it is no WAV file", path);
  Sound sound;
  SampleFormat format;
  for (std::size_t at = 12; at + 8 <= all.size();) {
    const std::string_view name = all.substr(at, 4);
    const auto size = static_cast<std::size_t>(number(all, at + 4, 4));
    const std::string_view chunk = all.substr(at + 8, size);
    // Programs that write to a pipe do not know the size, and leave the largest one.
    constexpr std::size_t kUnknown = 0xffffffff;
    if (chunk.size() < size && !(name == "data" && size == kUnknown)) {
      throw FormatError("{}: it is cut off: its part {} has {} bytes, of which {} are there", path, in_quotes(name),
                        size, chunk.size());
    }
    at += 8 + chunk.size() + (chunk.size() & 1);
    if (name == "fmt ") {
      if (chunk.size() < 16) throw FormatError("{}: its format takes {} bytes, expected 16", path, chunk.size());
      std::uint64_t code = number(chunk, 0, 2);
      if (code == 0xfffe && chunk.size() >= 26) code = number(chunk, 24, 2);  // what an extension says
      sound.channels = static_cast<std::int64_t>(number(chunk, 2, 2));
      sound.rate = static_cast<std::int64_t>(number(chunk, 4, 4));
      format = {.floats = code == 3, .bits = number(chunk, 14, 2)};
      const std::size_t b = format.bits;
      if (code != 1 && code != 3)
        throw Unsupported("{}: its samples are compressed (format {}); integers and floats are read", path, code);
      if (format.floats ? b != 32 && b != 64 : b != 8 && b != 16 && b != 24 && b != 32) {
        throw Unsupported("{}: its samples are {} of {} bits", path, format.floats ? "floats" : "integers", b);
      }
      if (sound.channels == 0) throw FormatError("{}: it has no channels", path);
    } else if (name == "data") {
      if (sound.channels == 0) throw FormatError("{}: its samples come before their format", path);
      const std::size_t width = format.bits / 8, frame = width * static_cast<std::size_t>(sound.channels);
      const std::size_t count = chunk.size() / frame * static_cast<std::size_t>(sound.channels);
      sound.samples.resize(count);
      for (std::size_t i = 0; i < count; ++i) sound.samples[i] = format.read(chunk, i * width);
      return sound;
    }
  }
  throw FormatError("{}: it has no samples", path);
}

Tensor sound_tensor(const Sound& sound, const std::optional<std::vector<std::optional<std::int64_t>>>& given,
                    DType dtype, std::string& note) {
  const std::vector<std::optional<std::int64_t>> sizes = given ? *given : std::vector<std::optional<std::int64_t>>(2);
  const std::size_t rank = sizes.size();
  if (rank < 1 || rank > 3) {
    throw ShapeError(
        "its shape has {} axes; a sound is [samples], [batch, samples], or has an axis of channels as well", rank);
  }
  // Of three axes, which has the channels: the one of a small size.
  constexpr std::int64_t kMostChannels = 8;
  const bool last = rank == 3 && sizes[2] && *sizes[2] <= kMostChannels && !(sizes[1] && *sizes[1] <= kMostChannels);
  const std::size_t along = rank == 3 && last ? 1 : rank - 1;
  const std::int64_t wanted = rank == 3 ? sizes[last ? 2 : 1].value_or(1) : 1;
  if (wanted != 1 && wanted != sound.channels) {
    throw ShapeError("it takes {} channels, and the sound has {}", wanted, sound.channels);
  }
  const auto own = static_cast<std::int64_t>(sound.samples.size()) / sound.channels;
  const std::int64_t length = sizes[along].value_or(own);
  if (length < own) note = std::format("the first {} of {} samples", length, own);
  if (length > own) note = std::format("{} samples, and {} zeros behind them", own, length - own);
  std::vector<float> values(static_cast<std::size_t>(length * wanted));
  for (std::int64_t i = 0; i < std::min(length, own); ++i) {
    const float* frame = sound.samples.data() + i * sound.channels;
    double sum = 0;
    for (std::int64_t c = 0; c < sound.channels; ++c) sum += static_cast<double>(frame[c]);
    for (std::int64_t c = 0; c < wanted; ++c) {
      const float v = wanted == 1 ? static_cast<float>(sum / static_cast<double>(sound.channels)) : frame[c];
      values[static_cast<std::size_t>(last ? i * wanted + c : c * length + i)] = v;
    }
  }
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d)
    shape.push_back(d == along ? length : rank == 3 && d == (last ? 2u : 1u) ? wanted : 1);
  const DefaultDeviceScope host(Device::cpu());
  Tensor x = Graph::constant(TensorData::of<float>(shape, std::span(values)));
  if (is_integer(dtype)) x = round(x * std::ldexp(1.0, static_cast<int>(bits(dtype)) - 1));
  x = cast(x, dtype);
  eval(x);
  return x;
}

}  // namespace weft::app
