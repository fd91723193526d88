#include "samegrad/base/digest.h"

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

using DigestOfFile = TemporaryFolder;

// FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, EqualsThePublishedValues) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

TEST_F(DigestOfFile, EqualsTheDigestOfItsBytes) {
  const std::string bytes(100'000, '\0');
  write(folder_ / "file", bytes);
  EXPECT_EQ(sha256_file_hex(folder_ / "file", "data"), sha256_hex(bytes));
  EXPECT_THROW(sha256_file_hex(folder_ / "none", "data"), InputError);
}

// Values of the Python package xxhash 4.1.0 (xxh3_128_hexdigest), whose C core is another build.
TEST(Xxh3, EqualsTheReferenceProgram) {
  EXPECT_EQ(xxh3_128_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128_hex("abc"), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(xxh3_128_hex(std::string(1000, 'a')), "b01da365eddaa29cb3e7af627147db7c");
}

}  // namespace
}  // namespace samegrad
