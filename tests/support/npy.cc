#include "support/npy.h"

#include <algorithm>

#include "core/format.h"
#include "core/mapped_file.h"
#include "files/npy.h"
#include "support/data.h"
#include "weft/error.h"

namespace weft::test {

View load_npy(const std::string& name) {
  const std::string path = data_path(name).string();
  const MappedFile file = MappedFile::open(path);
  const NpyArray array = parse_npy(file.bytes, file.owner, path);
  if (array.fortran_order) throw FormatError("{}: not in C order", path);
  View view(Buffer::host((array.data.bytes.size() + 15) / 16 * 16), 0, array.data.dtype, array.data.shape);
  std::ranges::copy(array.data.bytes, view.buffer.data());
  return view;
}

}  // namespace weft::test
