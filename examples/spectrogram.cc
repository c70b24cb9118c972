// The spectrogram of a WAV file in decibels, as a picture with time to the right and frequency upwards.
#include <png.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numbers>
#include <vector>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/signal.h"

using namespace weft;

namespace {

struct Sound {
  std::vector<float> samples;  // of one channel, in [-1, 1]
  double rate = 44100;         // samples in a second
};

// The mean of the channels of a file of 16-bit samples.
Sound read_wav(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError(path + ": cannot be read");
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const auto refuse = [&](const char* why) { throw FormatError(path + ": " + why); };
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      n |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(file[at + i])) << 8 * i;
    return n;
  };
  if (file.size() < 12 || file.compare(0, 4, "RIFF") != 0 || file.compare(8, 4, "WAVE") != 0)
    refuse("it is no WAV file");
  Sound sound;
  std::size_t channels = 0;
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::string name = file.substr(at, 4);
    const std::size_t size = std::min<std::size_t>(number(at + 4, 4), file.size() - at - 8);
    at += 8;
    if (name == "fmt ") {
      // 1: integers; 0xfffe: what an extension says, which of 16 bits is the same.
      if (size < 16 || (number(at, 2) != 1 && number(at, 2) != 0xfffe) || number(at + 14, 2) != 16) {
        refuse("its samples are not integers of 16 bits");
      }
      channels = number(at + 2, 2);
      sound.rate = number(at + 4, 4);
    } else if (name == "data") {
      if (channels != 1 && channels != 2) refuse("it has neither one channel nor two");
      for (std::size_t i = at; i + 2 * channels <= at + size; i += 2 * channels) {
        float sum = 0;
        for (std::size_t c = 0; c < channels; ++c) sum += static_cast<std::int16_t>(number(i + 2 * c, 2));
        sound.samples.push_back(sum / static_cast<float>(32768 * channels));
      }
      return sound;
    }
    at += size + size % 2;
  }
  refuse("it has no samples");
  return sound;
}

constexpr double kSeconds = 6, kFrom = 110, kTo = 1760;  // of the tone, in hertz

double frequency(double time) { return kFrom * std::pow(kTo / kFrom, time / kSeconds); }

// A tone that rises by as many octaves in each second, with overtones.
Sound rising_tone() {
  Sound sound;
  double turns = 0;
  for (int i = 0; i < static_cast<int>(kSeconds * sound.rate); ++i) {
    const double time = i / sound.rate;
    double sum = 0;
    for (int k = 1; k <= 16; ++k) {
      // Each overtone swells at times of its own, and fades before it reaches half of the rate.
      const double swell = 0.55 + 0.45 * std::sin(2 * std::numbers::pi * (time * 0.5 + 0.13 * k));
      const double fade = std::clamp((sound.rate / 2 - k * frequency(time)) / 2000, 0.0, 1.0);
      sum += fade * swell / k * std::sin(2 * std::numbers::pi * k * turns);
    }
    turns = std::fmod(turns + frequency(time) / sound.rate, 1);
    const double fade = std::min({1.0, 10 * time, 10 * (kSeconds - time)});
    sound.samples.push_back(static_cast<float>(0.4 * fade * sum));
  }
  return sound;
}

// Matplotlib's magma, whose lightness rises evenly, at nine places.
Tensor colours(const Tensor& level) {
  constexpr std::uint32_t kColours[] = {0x000004, 0x1c1044, 0x4f127b, 0x812581, 0xb5367a,
                                        0xe55964, 0xfb8761, 0xfec287, 0xfbfdbf};
  std::vector<float> table;
  for (const std::uint32_t c : kColours) {
    for (const int shift : {16, 8, 0}) table.push_back(static_cast<float>(c >> shift & 255));
  }
  const Tensor palette = tensor({9, 3}, table), place = clamp(level, 0, 1) * 8, from = minimum(floor(place), 7);
  const Tensor first = from.cast(DType::i32);
  return lerp(palette[first], palette[first + 1], expand_dims(place - from, -1));
}

bool write_png(const std::string& file, const Tensor& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(picture.shape()[0]);
  image.width = static_cast<png_uint_32>(picture.shape()[1]);
  image.format = PNG_FORMAT_RGB;
  return png_image_write_to_file(&image, file.c_str(), 0, picture.read<std::uint8_t>().data(), 0, nullptr) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string input, output = "spectrogram.png";
  std::int64_t n_fft = 2048, width = 1200;
  double decibels = 100, highest = 0;
  CLI::App app{"Draws the spectrogram of a WAV file (16-bit PCM, mono or stereo) into a PNG file."};
  app.add_option("file", input, "the WAV file; without one, a rising tone with overtones");
  app.add_option("-o,--output", output, "the PNG file")->capture_default_str();
  app.add_option("--n-fft", n_fft, "samples in a frame")->capture_default_str()->check(CLI::Range(16, 65536));
  app.add_option("--width", width, "pixels, about")->capture_default_str()->check(CLI::Range(1, 16384));
  app.add_option("--decibels", decibels, "from the loudest to what is black")
      ->capture_default_str()
      ->check(CLI::Range(1, 400));
  app.add_option("--highest", highest, "the frequency at the upper edge, in hertz; half of the file's rate by default");
  CLI11_PARSE(app, argc, argv);

  try {
    const Sound sound = input.empty() ? rising_tone() : read_wav(input);
    const auto count = static_cast<std::int64_t>(sound.samples.size());
    if (count <= n_fft / 2) throw InvalidArgument("the sound is shorter than half a frame");
    const std::int64_t hop = std::max<std::int64_t>(count / width, 1);
    const Tensor spectrum = stft(tensor(sound.samples), n_fft, {.hop_length = hop, .window = hann_window(n_fft)});
    Tensor power = square(abs(spectrum));
    const double bin = sound.rate / static_cast<double>(n_fft);
    if (highest > 0) power = slice(power, 0, 0, std::clamp<std::int64_t>(std::llround(highest / bin), 1, n_fft / 2));
    const Tensor level = 10 * log10(maximum(power, 1e-30f) / maximum(max(power), 1e-30f));  // in decibels
    const Tensor picture = round(colours(flip(level / decibels + 1, {0}))).cast(DType::u8);
    if (!write_png(output, picture)) throw IoError(output + ": cannot be written");

    // Where the loudest of the first overtones is in the middle of the tone.
    const Tensor middle = power[{all, power.shape()[1] / 2}];
    const double loudest = bin * argmax(middle).item<double>();
    std::printf("%s: %lld x %lld pixels, %.2f s, loudest in the middle at %.0f Hz\n", output.c_str(),
                static_cast<long long>(picture.shape()[1]), static_cast<long long>(picture.shape()[0]),
                static_cast<double>(count) / sound.rate, loudest);
    return !input.empty() || std::abs(loudest - frequency(kSeconds / 2)) < bin ? 0 : 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "spectrogram: %s\n", e.what());
    return 1;
  }
}
