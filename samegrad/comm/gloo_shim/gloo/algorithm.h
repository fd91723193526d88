// Empty: ProcessGroupGloo.hpp includes it and uses nothing of it. PyTorch's wheel holds Gloo without its headers.
#pragma once
