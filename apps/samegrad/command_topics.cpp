#include "apps/samegrad/command_topics.h"

namespace samegrad {
namespace {

const char* const kExitCodes =
    "Exit codes: 0 done; 1 the run failed; 2 usage, configuration or data; 3 a check failed or a checkpoint is\n"
    "damaged; 130, 143 stopped by SIGINT, SIGTERM after a complete checkpoint; 128 + n ended by signal n.";

std::vector<CommandTopic> make_topics() {
  return {
      {.name = "demo",
       .summary = "The whole lesson, command by command, on two processes",
       .detail =
           "Runs every command of the lesson, each as you would type it, in the run's folder. Ends with exit code 0\n"
           "where all checks are as they must be.",
       .reads = "nothing",
       .writes = "outputs/, artifacts/checkpoints/",
       .examples = {"samegrad demo", "samegrad demo --run /tmp/lesson"}},
      {.name = "acquire",
       .summary = "Checks that nothing has to be downloaded",
       .detail =
           "Lists every input of the config and where it comes from. The lesson's are generated; a text run's are\n"
           "your own files. A file that is missing, or an address, ends it with exit code 2.",
       .reads = "the config; whether its files are there",
       .writes = "nothing",
       .examples = {"samegrad acquire", "samegrad acquire --config configs/text.yaml --set data.train=my.jsonl --json"},
       .prints_results = true},
      {.name = "env",
       .summary = "What a run would use here: CPU, memory, disk, libraries, launcher",
       .detail =
           "Ends with exit code 2 and the reason where something that the run needs is not there. --measure-cost\n"
           "prints two lines for the section plan of the config; it needs no data, and no run ever measures.",
       .reads = "this machine, the config",
       .writes = "nothing",
       .examples = {"samegrad env", "samegrad env --dual", "samegrad env --measure-cost"},
       .prints_results = true},
      {.name = "config",
       .summary = "Every configuration key: its value, what is allowed, what it means",
       .detail = "Values are those of a run with the same --config and --set.",
       .reads = "the config",
       .writes = "nothing",
       .examples = {"samegrad config", "samegrad config --config configs/text.yaml --set data.train=my.jsonl --json"},
       .prints_results = true},
      {.name = "prepare",
       .summary = "Makes the data, the plan, the initial weights and the data lock",
       .detail = "`train` prepares what is missing by itself; this does it without training.",
       .reads = "the config; data.train and data.validation of a text run",
       .writes = "outputs/data/, outputs/data.lock.json, outputs/plan.json, outputs/init.safetensors",
       .examples = {"samegrad prepare", "samegrad prepare --set seed=7 --run /tmp/seven"},
       .prints_results = true},
      {.name = "reference",
       .summary = "The first gradient by one process on an independent path, in float32 and float64",
       .detail = "Ordinary padded batches and ordinary operations: what the exact path is compared with.",
       .reads = "outputs/ as `prepare` leaves it",
       .writes = "outputs/reference.safetensors, outputs/reference-float64.safetensors",
       .examples = {"samegrad reference", "samegrad reference --json"},
       .prints_results = true},
      {.name = "check-loss",
       .summary = "The counter-example: 12 tokens and 36 tokens, 2 against 2.5",
       .detail = "Shows in numbers why the mean of the processes' means is not the mean over tokens.",
       .reads = "nothing",
       .writes = "nothing",
       .examples = {"samegrad check-loss", "samegrad check-loss --json"},
       .prints_results = true},
      {.name = "train",
       .summary = "Trains: the same bits on any number of processes",
       .detail = "--nproc N starts N processes on this host. Without it, `train` joins the launcher that started it\n"
                 "(torchrun, accelerate, mpirun, srun), or runs alone. What is missing is prepared first. Without "
                 "--resume it\n"
                 "starts a new run, also in a used folder.",
       .reads = "the config; outputs/ as `prepare` leaves it; a checkpoint with --resume",
       .writes = "artifacts/checkpoints/step-N/, outputs/metrics.jsonl,\n"
                 "        outputs/final-{stopped,continuous,resumed}.safetensors",
       .examples = {"samegrad train --nproc 2", "samegrad train --nproc 2 --continuous",
                    "samegrad train --nproc 2 --resume artifacts/checkpoints/step-0050",
                    "samegrad train --nproc 2 --config configs/text.yaml --set data.train=my.jsonl",
                    "samegrad train --dry-run --set plan.accumulation=4"}},
      {.name = "verify-resume",
       .summary = "Proves that stops, resumes and the number of processes change no bit",
       .detail =
           "Trains your config by one process without a stop, then by other numbers of processes, then in legs: each\n"
           "stops with a checkpoint from which the next goes on, with another number of processes. Every update of\n"
           "each run is compared: samples, gradient, parameters, loss, learning rate. `2 to 4, 3 to 12` is 2 "
           "processes\n"
           "up to update 4, then 3 up to 12. Without --stops and --worlds it chooses several. Exit code 3 where one\n"
           "differs, with the first update and the parameter that is furthest off.",
       .reads = "the config; data.train and data.validation of a text run",
       .writes = "outputs/verify-resume/, removed where all is equal; nothing of the run's own",
       .examples = {"samegrad verify-resume", "samegrad verify-resume --stops 3,7 --worlds 2,3,1",
                    "samegrad verify-resume --worlds 1,2,4,8 --updates 20 --json",
                    "samegrad verify-resume --config configs/text.yaml --set data.train=my.jsonl"},
       .prints_results = true},
      {.name = "evaluate",
       .summary = "Scores, the report, and every check of the run",
       .detail =
           "Loss per token and accuracy on validation and test data; the gradient against the reference, the resume\n"
           "against the continuous run, the refusal of an empty window. Exit code 3 where a check does not hold.",
       .reads = "outputs/, artifacts/checkpoints/",
       .writes = "outputs/report.json",
       .examples = {"samegrad evaluate", "samegrad evaluate --json"},
       .prints_results = true},
      {.name = "verify",
       .summary = "Proves a window's gradient: every component, in two precisions, with controls",
       .detail =
           "Computes the window on N processes (default: plan.virtual_ranks) and once more in one process on an\n"
           "independent path, and compares every component: in float32, and in float64 end to end at 1e-12. The\n"
           "well-known mistakes must be rejected. With --checkpoint the config is the checkpoint's own; --config may\n"
           "repeat it. Exit code 3 where the right gradient fails or any mistake passes.",
       .reads = "the config; outputs/ as `prepare` leaves it; a checkpoint with --checkpoint",
       .writes = "what `prepare` writes, where it is missing; with --dump-gradients DIR,\n"
                 "        DIR/verify-UPDATE-{float32,float64}.safetensors",
       .examples = {"samegrad verify", "samegrad verify --nproc 3 --update 10",
                    "samegrad verify --checkpoint latest --json",
                    "samegrad verify --config configs/text.yaml --set data.train=my.jsonl"},
       .prints_results = true},
      {.name = "exercise",
       .summary = "Your turn: predict two means and two gradients, then look",
       .detail = "12 tokens of loss 1 with 12 of loss 3, then with 36; on paper and on the real model.",
       .reads = "the config",
       .writes = "nothing",
       .examples = {"samegrad exercise --config configs/exercise.yaml"},
       .prints_results = true},
      {.name = "plot",
       .summary = "The figures: loss curves, tokens per rank, gradient error",
       .detail = "PNG files need `rsvg-convert`; SVG files need nothing.",
       .reads = "outputs/metrics.jsonl, outputs/plan.json, outputs/report.json",
       .writes = "outputs/figures/",
       .examples = {"samegrad plot"}},
      {.name = "bisect",
       .summary = "Where two runs first differ, and in what",
       .detail = "Compares two runs update by update by what they recorded. Where they differ, one process computes "
                 "each again\n"
                 "from its nearest checkpoint, and the first difference is named: samples, counts, the gradient of "
                 "which atom\n"
                 "and tensor, optimizer state or options; or a record that this program does not get from the run's "
                 "own state.\n"
                 "For runs under another run.isa give it: --set run.isa=avx2. Exit code 0: they agree; 3: they differ.",
       .reads = "outputs/ and artifacts/checkpoints/ of both folders",
       .writes = "nothing",
       .examples = {"samegrad bisect runs/monday runs/tuesday", "samegrad bisect . . --kind continuous,resumed --json"},
       .prints_results = true},
      {.name = "diagnose",
       .summary = "Names the mistake that makes one gradient out of another",
       .detail =
           "Compares two gradient files of any origin: A is the suspect, B the reference. The more numbers are given,\n"
           "the more can be named; a mean of means needs --rank-gradients. Exit code 0: identical, or rounding only;\n"
           "3: any other difference. docs/diagnose.md shows how to dump the gradients of a PyTorch run.",
       .reads = "the files",
       .writes = "nothing",
       .examples = {"samegrad diagnose ddp.safetensors one.safetensors --world-size 2 --accumulation 4",
                    "samegrad diagnose a.safetensors b.safetensors --rank-tokens 12,36 --samples 4 --json"},
       .prints_results = true},
      {.name = "checkpoints",
       .summary = "Lists and verifies checkpoints",
       .detail = "What is inside, whether it is complete, its digests. Exit code 3 where one is damaged.",
       .reads = "artifacts/checkpoints/, or PATH",
       .writes = "nothing",
       .examples = {"samegrad checkpoints", "samegrad checkpoints artifacts/checkpoints/step-0050 --json"},
       .prints_results = true},
      {.name = "generate",
       .summary = "Continues a prompt with a trained text model",
       .detail = "Model and config are the checkpoint's own.",
       .reads = "a checkpoint of a text run",
       .writes = "nothing",
       .examples = {"samegrad generate --prompt 'Package: '", "samegrad generate --prompt Once --temperature 0.8"}},
      {.name = "launch",
       .summary = "Starts your own program in N processes of this host, and watches them",
       .detail =
           "samegrad launch --nproc N -- PROGRAM ARGUMENTS. The program calls samegrad::init(), or is written for\n"
           "torchrun: each process gets the variables that such programs read, pinned threads and kernels, and the\n"
           "memory that all share; no standard input. Where one fails, the first culprit is named, the others are\n"
           "ended, and its exit code (128 + n for signal n) is launch's own. Of the configuration only `run` counts.",
       .reads = "the config; PET_* variables, as torchrun does",
       .writes = "--log-dir and --failure-json, where they are given",
       .examples = {"samegrad launch --nproc 2 -- ./my_program --epochs 3",
                    "samegrad launch --nproc 4 --backend gloo -- ./my_program",
                    "samegrad launch --nproc auto --max-restarts 3 --log-dir logs -- python3 train_ddp.py"}},
      {.name = "simulate",
       .summary = "What a training would cost on more ranks than are here: time, exchange, memory, efficiency",
       .detail =
           "For canonical and native reduction, up to 4,096 ranks, from the speeds that you give. Bytes sent and\n"
           "gradient memory are exact, times are a model (docs/simulate.md). With --run the tokens are those of a\n"
           "prepared plan, so that unequal atoms count; without it, all samples are alike.",
       .reads = "the config; with --run, outputs/ as `prepare` leaves it",
       .writes = "nothing; FILE with --figure",
       .examples = {"samegrad simulate",
                    "samegrad simulate --atoms-per-rank 4 --world-sizes 1,8,64,512,4096 --network-bandwidth 2.5e10",
                    "samegrad simulate --run /tmp/lesson --world-sizes 1,2,3,4 --json"},
       .prints_results = true},
      {.name = "status",
       .summary = "Where the ranks of a training are: update, phase, collective call, and which is stopped or dead",
       .detail =
           "Reads the records that the ranks keep while they train; they need not answer, and are not disturbed.\n"
           "slow: others wait for it. elsewhere: it runs on another host, from where its record is read.",
       .reads = "outputs/status/ of the run",
       .writes = "nothing",
       .examples = {"samegrad status", "samegrad status /shared/run --json"},
       .prints_results = true},
      {.name = "stop",
       .summary = "Ends a training of this host in good order, with a checkpoint",
       .detail = "Asks its processes as SIGTERM does: they finish the update, and all stop at the same one. Returns "
                 "when they\n"
                 "have ended and says where to go on; exit code 1 where some have not after --grace.",
       .reads = "outputs/status/ of the run",
       .writes = "nothing itself; the training writes its checkpoint",
       .examples = {"samegrad stop", "samegrad stop /shared/run --grace 120"}},
      {.name = "clean",
       .summary = "Shows or removes what was generated, and nothing else",
       .detail = "Only files that samegrad knows by name, never through a link, never a file of yours.",
       .reads = "the run's folder",
       .writes = "removes outputs/ and artifacts/checkpoints/ as far as they were generated",
       .examples = {"samegrad clean --scope generated --dry-run", "samegrad clean --scope generated"},
       .prints_results = true},
      {.name = "version",
       .summary = "Versions of samegrad and of the libraries it was built with",
       .detail = "",
       .reads = "nothing",
       .writes = "nothing",
       .examples = {"samegrad version --json"},
       .prints_results = true},
  };
}

}  // namespace

std::span<const CommandTopic> command_topics() {
  static const std::vector<CommandTopic> kTopics = make_topics();
  return kTopics;
}

std::string topic_footer(const CommandTopic& topic) {
  std::string text = topic.detail.empty() ? "" : topic.detail + "\n\n";
  text += "Reads:  " + topic.reads + "\nWrites: " + topic.writes + "\n\nExamples:\n";
  for (const std::string& example : topic.examples) {
    text += "  " + example + "\n";
  }
  return text + "\n" + kExitCodes;
}

std::string overview_footer() {
  return "samegrad COMMAND --help tells what a command reads and writes, with examples.\n"
         "Start with `samegrad demo`, or with your own file:\n"
         "  samegrad train --nproc 2 --config configs/text.yaml --set data.train=my.jsonl\n\n"
         "Today: CPU processes, models trained from scratch.\n\n" +
         std::string(kExitCodes);
}

}  // namespace samegrad
