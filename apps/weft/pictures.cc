#include "pictures.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#ifdef WEFT_PNG
#include <png.h>
#endif
#ifdef WEFT_JPEG
#include <jpeglib.h>

#include <jerror.h>
#endif

#include "core/format.h"
#include "core/mapped_file.h"
#include "core/suffix.h"
#include "output.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/resampling.h"
#include "weft/tensor_data.h"

namespace weft::app {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;

#ifdef WEFT_PNG
Picture read_png(const std::string& path, std::span<const std::byte> bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    const std::string message = image.message;
    png_image_free(&image);
    throw FormatError("{}: it is no PNG file that libpng reads: {}", path, message);
  };
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) fail();
  // 16 bits a channel are as bright as 8: the file says if they are not.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  const bool grey = (image.format & PNG_FORMAT_FLAG_COLOR) == 0, clear = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  image.format = clear ? PNG_FORMAT_RGBA : grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Picture p{.height = image.height, .width = image.width, .channels = clear ? 4 : grey ? 1 : 3, .pixels = {}};
  if (p.height * p.width > kMostPixels) {
    png_image_free(&image);
    throw Unsupported("{}: {} × {} pixels", path, p.width, p.height);
  }
  p.pixels.resize(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, p.pixels.data(), 0, nullptr)) fail();
  return p;
}
#endif

#ifdef WEFT_JPEG
// libjpeg calls back where it fails, and must not return from there.
struct JpegFailure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail_jpeg(j_common_ptr info) {
  auto* failure = reinterpret_cast<JpegFailure*>(info->err);
  info->err->format_message(info, failure->message);
  std::longjmp(failure->back, 1);
}

// How the camera was held, of a segment of EXIF: 1 to 8, 1 upright.
int orientation(std::span<const std::uint8_t> segment) {
  if (segment.size() < 14 || std::memcmp(segment.data(), "Exif\0\0", 6) != 0) return 1;
  const std::span<const std::uint8_t> tiff = segment.subspan(6);
  const bool big = tiff[0] == 'M';
  const auto number = [&](std::size_t at, std::size_t width) -> std::uint64_t {
    std::uint64_t n = 0;
    if (at > tiff.size() || width > tiff.size() - at) return 0;
    for (std::size_t i = 0; i < width; ++i) n |= std::uint64_t{tiff[at + i]} << 8 * (big ? width - 1 - i : i);
    return n;
  };
  const std::uint64_t directory = number(4, 4), count = number(directory, 2);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = directory + 2 + 12 * i;
    if (number(entry, 2) != 0x0112) continue;
    const std::uint64_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The picture as it is upright.
Picture turned(Picture p, int how) {
  if (how == 1) return p;
  const bool swaps = how >= 5, up = how == 3 || how == 4 || how == 6 || how == 7,
             left = how == 2 || how == 3 || how >= 7;
  Picture y{
      .height = swaps ? p.width : p.height, .width = swaps ? p.height : p.width, .channels = p.channels, .pixels = {}};
  y.pixels.resize(p.pixels.size());
  for (std::int64_t i = 0; i < y.height; ++i) {
    for (std::int64_t j = 0; j < y.width; ++j) {
      std::int64_t r = swaps ? j : i, c = swaps ? i : j;
      if (up) r = p.height - 1 - r;
      if (left) c = p.width - 1 - c;
      const auto from = static_cast<std::size_t>((r * p.width + c) * p.channels),
                 to = static_cast<std::size_t>((i * y.width + j) * p.channels);
      std::memcpy(y.pixels.data() + to, p.pixels.data() + from, static_cast<std::size_t>(p.channels));
    }
  }
  return y;
}

// What is not decoded, though libjpeg might.
const char* refused(const jpeg_decompress_struct& info) {
  if (info.num_components == 4) return "its colours are a printer's (CMYK)";
  const auto pixels = static_cast<std::int64_t>(info.image_width) * static_cast<std::int64_t>(info.image_height);
  return pixels > kMostPixels ? "it has more than 2^30 pixels" : nullptr;
}

// Nothing in here has a destructor that a jump would leave out: `picture` and `failure` are the caller's.
bool decode_jpeg(jpeg_decompress_struct& info, JpegFailure& failure, std::span<const std::byte> bytes, Picture& picture,
                 int& held) {
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = fail_jpeg;
  failure.manager.output_message = [](j_common_ptr) {};
  failure.manager.emit_message = [](j_common_ptr common, int) {
    if (common->err->msg_code == JWRN_JPEG_EOF) fail_jpeg(common);  // else what is missing would be grey
  };
  if (setjmp(failure.back)) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<unsigned long>(bytes.size()));
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&info, TRUE);
  if (refused(info)) return false;
  const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
  info.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  picture.height = info.image_height;
  picture.width = info.image_width;
  picture.channels = grey ? 1 : 3;
  jpeg_start_decompress(&info);
  const std::size_t row = static_cast<std::size_t>(picture.width * picture.channels);
  picture.pixels.resize(row * static_cast<std::size_t>(picture.height));
  while (info.output_scanline < info.output_height) {
    JSAMPROW at = picture.pixels.data() + row * info.output_scanline;
    jpeg_read_scanlines(&info, &at, 1);
  }
  for (jpeg_saved_marker_ptr m = info.marker_list; m; m = m->next) {
    if (m->marker == JPEG_APP0 + 1 && held == 1) held = orientation({m->data, m->data_length});
  }
  jpeg_finish_decompress(&info);
  return true;
}

Picture read_jpeg(const std::string& path, std::span<const std::byte> bytes) {
  jpeg_decompress_struct info = {};
  JpegFailure failure = {};
  Picture picture;
  int held = 1;
  const bool done = decode_jpeg(info, failure, bytes, picture, held);
  const char* why = done ? nullptr : refused(info);
  jpeg_destroy_decompress(&info);
  if (why) throw Unsupported("{}: {}", path, why);
  if (!done) throw FormatError("{}: it is no JPEG file that libjpeg reads: {}", path, failure.message);
  return turned(std::move(picture), held);
}
#endif

// The pixels with other channels: `wanted` is 1, 3 or 4. What is transparent lies on white.
Picture with_channels(const Picture& p, std::int64_t wanted) {
  if (p.channels == wanted) return p;
  Picture y{.height = p.height, .width = p.width, .channels = wanted, .pixels = {}};
  const auto count = static_cast<std::size_t>(p.height * p.width);
  y.pixels.resize(count * static_cast<std::size_t>(wanted));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* from = p.pixels.data() + i * static_cast<std::size_t>(p.channels);
    std::uint8_t* to = y.pixels.data() + i * static_cast<std::size_t>(wanted);
    double rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = from[p.channels == 1 ? 0 : c];
    if (p.channels == 4 && wanted != 4) {
      for (double& v : rgb) v = 255 + (v - 255) * from[3] / 255;
    }
    // The weights of ITU-R BT.601.
    if (wanted == 1)
      to[0] = static_cast<std::uint8_t>(std::lround(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]));
    else
      for (int c = 0; c < 3; ++c) to[c] = static_cast<std::uint8_t>(std::lround(rgb[c]));
    if (wanted == 4) to[3] = 255;
  }
  return y;
}

using Size = std::optional<std::int64_t>;

bool is_channels(const Size& size) { return size && (*size == 1 || *size == 3 || *size == 4); }

// Where an input's sizes have what: axes of channels (none: -1) and of height; width is behind it.
struct Axes {
  int channels = -1, height = 0;
};
Axes axes_of(const std::vector<Size>& sizes, PictureOptions::Layout layout) {
  const int rank = static_cast<int>(sizes.size());
  if (rank == 2) return {-1, 0};
  const int first = rank - 3;  // of the last three
  const auto at = [&](int i) { return sizes[static_cast<std::size_t>(i)]; };
  bool last = layout == PictureOptions::Layout::nhwc;
  if (layout == PictureOptions::Layout::automatic)
    last = is_channels(at(rank - 1)) && (!is_channels(at(first)) || (*at(first) == 4 && *at(rank - 1) != 4));
  return last ? Axes{rank - 1, first} : Axes{first, first + 1};
}

}  // namespace

bool is_picture_name(const std::string& path) {
  return has_suffix(path, ".png") || has_suffix(path, ".jpg") || has_suffix(path, ".jpeg");
}

Picture read_picture(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  const std::string_view text = file.text();
  if (text.starts_with("\x89PNG")) {
#ifdef WEFT_PNG
    return read_png(path, file.bytes);
#else
    throw Unsupported("{}: this weft was built without libpng, and reads no PNG files", path);
#endif
  }
  if (text.starts_with("\xff\xd8\xff")) {
#ifdef WEFT_JPEG
    return read_jpeg(path, file.bytes);
#else
    throw Unsupported("{}: this weft was built without libjpeg, and reads no JPEG files", path);
#endif
  }
  throw FormatError("{}: it begins as neither PNG nor JPEG files do", path);
}

void write_png([[maybe_unused]] const std::string& path, [[maybe_unused]] const Picture& p) {
#ifdef WEFT_PNG
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(p.width);
  image.height = static_cast<png_uint_32>(p.height);
  image.format = p.channels == 1 ? PNG_FORMAT_GRAY : p.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, p.pixels.data(), 0, nullptr)) {
    throw IoError("{}: libpng cannot write it: {}", path, std::string(image.message));
  }
  bytes.resize(size);
  Output out(path);
  out.write(bytes);
  out.commit();
#else
  throw Unsupported("{}: this weft was built without libpng, and writes no PNG files", path);
#endif
}

Tensor picture_tensor(const Picture& picture, const std::optional<std::vector<Size>>& given, DType dtype,
                      const PictureOptions& options) {
  const std::vector<Size> sizes = given ? *given : std::vector<Size>(4);
  const int rank = static_cast<int>(sizes.size());
  if (rank < 2 || rank > 4) {
    throw ShapeError(
        "its shape has {} axes; a picture is [height, width], or has an axis of channels and one of batches "
        "as well",
        rank);
  }
  const Axes axes = axes_of(sizes, options.layout);
  using Channels = PictureOptions::Channels;
  std::int64_t channels = 3;
  switch (options.channels) {
    case Channels::automatic:
      if (axes.channels < 0)
        channels = 1;
      else if (is_channels(sizes[static_cast<std::size_t>(axes.channels)]))
        channels = *sizes[static_cast<std::size_t>(axes.channels)];
      break;
    case Channels::grey:
      channels = 1;
      break;
    case Channels::rgba:
      channels = 4;
      break;
    case Channels::rgb:
    case Channels::bgr:
      break;
  }
  if (axes.channels < 0 && channels != 1) throw ShapeError("its shape has two axes, which only a grey picture has");
  const Picture p = with_channels(picture, channels);

  const std::int64_t own[2] = {p.height, p.width};
  std::int64_t size[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const Size& of_model = sizes[static_cast<std::size_t>(axes.height) + i];
    if (!options.size.empty())
      size[i] = options.size[options.size.size() == 1 ? 0 : i];
    else
      size[i] = of_model.value_or(own[i]);
  }

  const DefaultDeviceScope host(Device::cpu());
  Tensor x = Graph::constant(TensorData::of<std::uint8_t>({1, p.height, p.width, channels}, std::span(p.pixels)));
  x = cast(permute(x, {0, 3, 1, 2}), DType::f32);
  std::int64_t to[2] = {size[0], size[1]};
  if (options.fit != PictureOptions::Fit::stretch) {
    const double across[2] = {static_cast<double>(size[0]) / static_cast<double>(own[0]),
                              static_cast<double>(size[1]) / static_cast<double>(own[1])};
    const bool crop = options.fit == PictureOptions::Fit::crop;
    const double factor = crop ? std::max(across[0], across[1]) : std::min(across[0], across[1]);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t n = std::llround(static_cast<double>(own[i]) * factor);
      to[i] = crop ? std::max(size[i], n) : std::clamp<std::int64_t>(n, 1, size[i]);
    }
  }
  if (to[0] != own[0] || to[1] != own[1]) {
    x = upsample(x, {to[0], to[1]}, {.mode = ResizeMode::linear, .antialias = true});
  }
  for (int i = 0; i < 2; ++i) {
    if (to[i] > size[i]) x = slice(x, 2 + i, (to[i] - size[i]) / 2, (to[i] - size[i]) / 2 + size[i]);
  }

  if (options.channels == Channels::bgr) x = flip(x, 1);
  const auto of_channels = [&](const std::vector<double>& numbers, const char* what) {
    if (numbers.size() != 1 && numbers.size() != static_cast<std::size_t>(channels)) {
      throw InvalidArgument("--{} has {} numbers; expected one, or {}, one a channel", what, numbers.size(), channels);
    }
    std::vector<float> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(channels); ++i) {
      all.push_back(static_cast<float>(numbers[numbers.size() == 1 ? 0 : i]));
    }
    return tensor({channels, 1, 1}, all);
  };
  if (!options.mean.empty()) x = x - of_channels(options.mean, "mean");
  if (!options.scale.empty())
    x = x * of_channels(options.scale, "scale");
  else if (is_floating(dtype))
    x = x / 255;
  for (int i = 0; i < 2; ++i) {
    if (to[i] >= size[i]) continue;
    Shape rest = x.shape();
    rest[2 + i] = size[i] - to[i];
    x = concat({x, zeros(rest, DType::f32)}, 2 + i);
  }
  if (is_integer(dtype)) x = round(x);
  x = cast(x, dtype);
  if (axes.channels < 0)
    x = reshape(x, {size[0], size[1]});
  else if (axes.channels == rank - 1)
    x = permute(x, {0, 2, 3, 1});
  if (rank == 3) x = squeeze(x, 0);
  x = contiguous(x);
  eval(x);
  return x;
}

std::vector<Picture> pictures_in(const Tensor& output) {
  constexpr std::int64_t kSmallest = 8;
  const bool is_kind = is_floating(output.dtype()) || output.dtype() == DType::u8 || output.dtype() == DType::boolean;
  const int rank = output.rank();
  if (!is_kind || rank < 2 || rank > 4 || output.size() == 0) return {};
  std::vector<Size> sizes;
  for (const std::int64_t s : output.shape()) sizes.push_back(s);
  if (rank == 3 && !is_channels(sizes[0]) && !is_channels(sizes[2])) return {};
  const Axes axes = axes_of(sizes, PictureOptions::Layout::automatic);
  const auto at = [&](int i) { return output.shape()[i]; };
  if (axes.channels >= 0 && !is_channels(at(axes.channels))) return {};
  if (at(axes.height) < kSmallest || at(axes.height + 1) < kSmallest) return {};
  const DefaultDeviceScope host(Device::cpu());
  Tensor x = cast(to(output, Device::cpu()), DType::f32);
  const std::int64_t channels = axes.channels < 0 ? 1 : at(axes.channels), height = at(axes.height),
                     width = at(axes.height + 1);
  const std::int64_t batch = rank == 4 ? at(0) : 1;
  const bool last = axes.channels >= 0 && axes.channels == rank - 1;
  x = last ? reshape(x, {batch, height, width, channels})
           : permute(reshape(x, {batch, channels, height, width}), {0, 2, 3, 1});
  const std::vector<float> values = x.to_vector<float>();
  float least = INFINITY, most = -INFINITY;
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  double factor = 255, offset = 0;
  const bool pixels = output.dtype() == DType::u8 || (least >= 0 && most > 1 && most <= 255 && most > 2);
  if (pixels)
    factor = 1;
  else if (output.dtype() != DType::boolean && !(least >= 0 && most <= 1)) {
    factor = most > least ? 255 / (static_cast<double>(most) - static_cast<double>(least)) : 0;
    offset = static_cast<double>(least);
  }
  const auto each = static_cast<std::size_t>(height * width * channels);
  std::vector<Picture> all;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
    Picture& p = all.emplace_back(
        Picture{.height = height, .width = width, .channels = channels, .pixels = std::vector<std::uint8_t>(each)});
    for (std::size_t i = 0; i < each; ++i) {
      const auto v = static_cast<double>(values[b * each + i]);
      p.pixels[i] =
          std::isnan(v) ? 0 : static_cast<std::uint8_t>(std::lround(std::clamp((v - offset) * factor, 0.0, 255.0)));
    }
  }
  return all;
}

}  // namespace weft::app
