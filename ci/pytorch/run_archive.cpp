// Loads a TorchScript archive with libtorch, runs it on numbers from a file, writes its result.
//
// run_archive ARCHIVE INPUT OUTPUT SIZE...
//
// INPUT holds float32 numbers of a tensor of the sizes, OUTPUT gets those of the result. Nothing of
// Python is in this process.

#include <torch/script.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::vector<char> read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    throw std::runtime_error("cannot read " + path);
  }
  std::vector<char> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::cerr << "usage: run_archive ARCHIVE INPUT OUTPUT SIZE...\n";
    return 2;
  }
  try {
    torch::jit::Module module = torch::jit::load(words[1]);
    module.eval();
    std::vector<int64_t> sizes;
    for (int i = 4; i < count; ++i) {
      sizes.push_back(std::strtoll(words[i], nullptr, 10));
    }
    std::vector<char> bytes = read_all(words[2]);
    torch::Tensor input = torch::from_blob(bytes.data(), sizes, torch::kFloat32).clone();
    if (input.nbytes() != bytes.size()) {
      throw std::runtime_error("the input has another size than its file");
    }
    c10::InferenceMode guard;
    torch::Tensor result = module.forward({input}).toTensor().to(torch::kFloat32).contiguous();
    std::ofstream out(words[3], std::ios::binary);
    out.write(static_cast<const char*>(result.data_ptr()),
              static_cast<std::streamsize>(result.nbytes()));
    std::cout << result.sizes() << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
