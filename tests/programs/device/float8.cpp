// Numbers of 8 bits: writes the header's conversion of each code, and of each single precision number in a file.
#include <nvshmemrs_device_host.hpp>

#include <cmath>
#include <fstream>
#include <vector>

using namespace nvshmemrs::device;

template <class E> static void convert(const std::vector<float> &values, std::ofstream &out) {
    for (int code = 0; code < 256; code++) {
        float value = Wide<E>::widen({(unsigned char)code});
        if (is_nan(value)) value = NAN; // whichever it is, it becomes the one that there is
        out.write((const char *)&value, sizeof value);
    }
    for (float value : values) out.put((char)Wide<E>::narrow(value).bits);
}

int main(int, char **args) {
    std::ifstream in(args[1], std::ios::binary | std::ios::ate);
    std::vector<float> values((size_t)in.tellg() / sizeof(float));
    in.seekg(0);
    in.read((char *)values.data(), (std::streamsize)(values.size() * sizeof(float)));
    std::ofstream out(args[2], std::ios::binary);
    convert<Float8E4m3fn>(values, out);
    convert<Float8E5m2>(values, out);
    puts(out.flush() && in ? "float8 ok" : "a file is not as it should be");
}
