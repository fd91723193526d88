#include "samegrad/model/inverse_normal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace samegrad {
namespace {

// Expected values: expected_initial_values.py (Python's statistics.NormalDist).
TEST(InverseNormal, AgreesWithPythonInTheCentreTheTailsAndAtTheirBorders) {
  struct Case {
    double p;
    double z;
  };
  for (const Case& c :
       {Case{1.1641532182693481e-10, -6.337957754553789}, Case{1e-08, -5.61200124417479},
        Case{0.0001, -3.71901648545568}, Case{0.01, -2.3263478740408408}, Case{0.0749, -1.4402382675279632},
        Case{0.0751, -1.4388253927525398}, Case{0.3, -0.5244005127080407}, Case{0.5, 0.0},
        Case{0.6, 0.2533471031357998}, Case{0.9249, 1.4388253927525403}, Case{0.9251, 1.4402382675279632},
        Case{0.999, 3.090232306167813}, Case{0.9999999998835847, 6.337957754553789}}) {
    EXPECT_NEAR(inverse_normal(c.p), c.z, 2e-7 * std::abs(c.z)) << "p = " << c.p;
  }
}

}  // namespace
}  // namespace samegrad
