// Empty: ProcessGroupGloo.hpp includes it and uses nothing of it.
#pragma once
