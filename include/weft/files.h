// Tensors in files: NumPy's .npy and .npz, and .safetensors.
//
//   save("model.safetensors", {{"w", w}, {"b", b}});
//   auto weights = load_all("model.safetensors");
//   Tensor x = load("x.npy");                           // np.save("x.npy", x)
//
// The path's extension says which, in capitals or small letters:
//   .npy          one array, which is called as the file is, without the extension: the file holds no name. Versions
//                 1.0 to 3.0, either byte order; an array in Fortran's order becomes a transposed view. Written in C
//                 order, the same bytes as numpy.save writes.
//   .npz          arrays by name in a ZIP archive. Read stored and deflated, as numpy.savez and savez_compressed write
//                 them; of two members of one name the last, as NumPy does. Written stored.
//   .safetensors  tensors by name. Also read: an index of several files (….index.json), and a model's directory
//                 (SafeTensors::open).
// NumPy's formats have floats of 16, 32 and 64 bits, all integers of 8 to 64 bits, bool and c64; safetensors has bf16
// and 8-bit floats besides. Packed types (i4, u2, …) are in neither.
// Sources: NumPy Enhancement Proposal 1 (Kern, 2007); https://github.com/huggingface/safetensors, section "Format".
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "weft/future.h"
#include "weft/safetensors.h"
#include "weft/tensor.h"

namespace weft {

using TensorMap = std::map<std::string, Tensor, std::less<>>;

// The tensor in an .npy file, or the only one in a file of another kind; on the default device. The file is mapped, and
// uploaded from there. Throws IoError (no such file, not readable), FormatError (malformed or cut off), Unsupported
// (well-formed, but of a type that Weft does not have, such as complex128, structures and text, or of more than 8
// axes), InvalidArgument (another extension; several tensors), OutOfMemory.
Tensor load(const std::filesystem::path& path);
// The tensor of that name, also from a file whose others Weft cannot read. Throws like load(); InvalidArgument if there
// is none.
Tensor load(const std::filesystem::path& path, std::string_view name);
// All tensors of a file by name; folders and other files in an .npz are left out. Throws like load(): one tensor that
// Weft does not have refuses all.
TensorMap load_all(const std::filesystem::path& path);

// Evaluates the tensors, waits for their values and writes them, one after the other. The file is written beside the
// one that `path` leads to through links, and moved there when it is complete, with the mode of the old one, so that a
// failure leaves the file that was there; a file system without space for it is an IoError before anything is written.
// What is no regular file (a pipe, a device) gets the complete bytes as it is. A single tensor in a file of names is
// called "arr_0" in .npz, as numpy.savez does, and "tensor" in .safetensors. `metadata` is for .safetensors alone;
// SafeTensors::metadata() reads it. Throws IoError, TypeError (the format lacks the type), InvalidArgument (another
// extension; in .npy several tensors, or another name than the file's; names that the format does not allow, and in
// .npz those that lead out of the folder into which it is unpacked: "../x", "/x"; they are read), and what eval() does.
void save(const std::filesystem::path& path, const Tensor& tensor);
void save(const std::filesystem::path& path, const TensorMap& tensors, const SafeTensors::Metadata& metadata = {});
// The same without waiting: the values that the tensors have when everything submitted so far is done. They are all
// read at once. The file is written by the future's get(), which throws what goes wrong with it.
Future<void> async_save(const std::filesystem::path& path, const Tensor& tensor);
Future<void> async_save(const std::filesystem::path& path, const TensorMap& tensors,
                        const SafeTensors::Metadata& metadata = {});

}  // namespace weft
