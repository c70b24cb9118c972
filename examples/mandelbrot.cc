// The Mandelbrot set as a picture: mandelbrot [FILE.png [WIDTH]].
#include <png.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/indexing.h"

using namespace weft;

namespace {

constexpr int kSamples = 2;       // points along each side of a pixel
constexpr int kIterations = 512;  // of points that stay
constexpr float kRadius = 256;    // points that leave this circle have left; a large one makes colours smooth

// Colours of the stripes around the set, each running into the next and the last into the first.
Tensor palette() {
  return tensor({6, 3}, {0.02f, 0.03f, 0.18f, 0.09f, 0.27f, 0.62f, 0.55f, 0.82f, 0.95f,  //
                         1.00f, 0.96f, 0.80f, 0.98f, 0.66f, 0.12f, 0.35f, 0.10f, 0.08f});
}

// The colour [..., 3] of points that escaped with z = f(c) after `count` iterations; dz is the derivative of f.
Tensor colour(const Tensor& z, const Tensor& dz, const Tensor& count, double point) {
  // The count of iterations, continued between integers by Douady and Hubbard's potential, on a logarithmic scale.
  auto size = abs(z);
  auto smooth = count + 1 - log2(log2(size) / std::log2(kRadius));
  auto place = remainder(2.4f * maximum(log2(maximum(smooth, 1)) - 2.3f, 0), 6);
  auto colours = palette();
  auto from = floor(place).cast(DType::i32);
  auto mix = expand_dims(place - floor(place), -1);
  mix = mix * mix * (3 - 2 * mix);
  auto base = lerp(colours[from], colours[(from + 1) % 6], mix);
  // Light from the upper left on a surface that rises towards the set: its slope has the direction of z / dz.
  auto slope = z / dz;
  slope = slope / abs(slope);
  auto light = (real(slope) * -0.71f + imag(slope) * 0.71f + 1.6f) / 2.6f;
  // The estimated distance to the set, in points, darkens the filaments that are too thin to be seen otherwise.
  auto distance = size * log(size) / abs(dz) / point;
  auto edge = pow(clamp(distance / 3, 0, 1), 0.35f);
  return base * expand_dims((0.35f + 0.65f * light) * edge, -1);
}

bool write_png(const char* file, const Tensor& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(picture.shape()[0]);
  image.width = static_cast<png_uint_32>(picture.shape()[1]);
  image.format = PNG_FORMAT_RGB;
  return png_image_write_to_file(&image, file, 0, picture.read<std::uint8_t>().data(), 0, nullptr) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* file = argc > 1 ? argv[1] : "mandelbrot.png";
  const std::int64_t width = argc > 2 ? std::atoll(argv[2]) : 1600, height = width * 3 / 4;
  if (width < 4 || width > 16384) {
    std::fprintf(stderr, "usage: mandelbrot [FILE.png [WIDTH]], a width from 4 to 16384\n");
    return 2;
  }
  // The plane from -2.32 - 1.26 i to 1.04 + 1.26 i.
  const double tall = 2.52, wide = tall * static_cast<double>(width) / static_cast<double>(height);
  const double point = wide / static_cast<double>(width * kSamples);
  auto re = linspace(-0.64 - wide / 2 + point / 2, -0.64 + wide / 2 - point / 2, width * kSamples);
  auto im = linspace(tall / 2 - point / 2, -tall / 2 + point / 2, height * kSamples);
  auto c = complex(re, expand_dims(im, 1));

  auto z = c, dz = ones_like(c);
  auto count = zeros(c.shape());
  auto inside = ones(c.shape(), DType::boolean);
  for (int i = 1; i < kIterations; ++i) {
    inside = square(real(z)) + square(imag(z)) < kRadius * kRadius;
    dz = where(inside, 2 * z * dz + 1, dz);
    z = where(inside, z * z + c, z);
    count = count + inside;
    if (i % 8 == 0) eval({z, dz, count, inside});  // eight iterations are one kernel
  }

  auto fine = where(expand_dims(inside, -1), 0, colour(z, dz, count, point));
  auto pixels = mean(fine.reshape({height, kSamples, width, kSamples, 3}), {1, 3});
  auto picture = round(255 * pow(clamp(pixels, 0, 1), 1 / 1.4f)).cast(DType::u8);
  if (!write_png(file, picture)) {
    std::fprintf(stderr, "mandelbrot: %s cannot be written\n", file);
    return 1;
  }
  // 1.50659 is Förstemann's estimate (2012); points that leave later than this counts are counted, too.
  const double area = inside.cast(DType::f32).mean().item<double>() * wide * tall;
  std::printf("%s: %lld x %lld pixels; the set's area is about %.3f\n", file, static_cast<long long>(width),
              static_cast<long long>(height), area);
  return std::abs(area - 1.50659) < 0.03 ? 0 : 1;
}
