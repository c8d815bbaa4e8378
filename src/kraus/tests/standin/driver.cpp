// The stand-in libcuda.so: memory that only the device may touch, streams that work at the last moment, modules whose
// kernels have host twins. Fresh memory is NaN, ends at a page that faults, and every copy is checked against it.
#include <stdarg.h>
#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include "standin.h"

#define API extern "C" __attribute__((visibility("default"))) int
enum { OK, INVALID = 1, MEMORY = 2, NO_DEVICE = 100, BAD_IMAGE = 200, NOT_FOUND = 500, ILLEGAL = 700, LAUNCH = 719 };
enum { NOT_SUPPORTED = 801, NOT_RECORDABLE = 900, RECORDING_SPOILT = 901 };
using Address = uint64_t;
// No address of the host has this bit: a host that follows a device pointer faults.
constexpr Address TAG = 1ull << 62;
constexpr size_t PAGE = 4096;

namespace {
std::recursive_mutex mutex;
struct Block {
    char* map;
    size_t mapped, bytes;
};
std::map<Address, Block> memory;
long allocations, launches, contexts, modules, in_use;
int sticky;  // an error of queued work: CUDA returns it from then on
struct Work {
    std::function<int()> run;
    bool always;  // frees: done even after an error, else every failure would look like a leak
};
struct Stream {
    std::deque<Work> queue;
    bool recording = false, spoilt = false;
    std::vector<Work> recorded;
};
struct Graph {
    std::vector<Work> work;
};
std::set<const void*> loaded;
long graphs, replays, peak, refusals;
Stream null_stream;
std::set<Stream*> streams;
struct Function {
    const Twin* twin;
};
struct Module {
    std::map<std::string, std::vector<size_t>> entries;
    std::map<std::string, Function> functions;
};

void drain(Stream& stream) {
    while (!stream.queue.empty()) {
        auto work = std::move(stream.queue.front());
        stream.queue.pop_front();
        if (work.always) work.run();
        else if (!sticky) sticky = work.run();
    }
}
void drain_all() {
    drain(null_stream);
    for (Stream* s : streams) drain(*s);
}
Stream& at(void* stream) { return stream ? *(Stream*)stream : null_stream; }
// What may not happen while any stream records: waiting, allocating, freeing, copies from and to the host.
bool spoils(const char* what) {
    bool spoilt = false;
    for (Stream* s : streams) {
        if (!s->recording) continue;
        complain("%s while a stream records", what);
        s->spoilt = spoilt = true;
    }
    return spoilt;
}

int allocate(Address* out, size_t bytes) {
    if (!bytes) return INVALID;
    if (allocations++ == setting("STANDIN_OOM_AT", -1)) return MEMORY;
    long limit = setting("STANDIN_MEMORY", 1 << 30);
    if (in_use + (long)bytes > limit) drain_all();  // what is queued to be freed counts as free
    if (in_use + (long)bytes > limit) return refusals++, MEMORY;
    size_t whole = (bytes + 3) / 4 * 4, body = (whole + PAGE - 1) / PAGE * PAGE;
    char* map = (char*)mmap(nullptr, body + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + PAGE, body, PROT_READ | PROT_WRITE)) return MEMORY;
    memset(map + PAGE, 0xff, body);
    *out = (Address)(map + PAGE + body - whole) | TAG;
    memory[*out] = {map, body + 2 * PAGE, bytes};
    in_use += bytes;
    peak = peak < in_use ? in_use : peak;
    return OK;
}
int release(Address address) {
    auto it = memory.find(address);
    if (it == memory.end()) return complain("freed what is no allocation"), ILLEGAL;
    in_use -= it->second.bytes;
    munmap(it->second.map, it->second.mapped);
    memory.erase(it);
    return OK;
}
int outside(const char* what) { return complain("%s outside its allocation", what), ILLEGAL; }

// The entries of a PTX text and the sizes of their parameters.
bool parse(const char* text, Module& module) {
    for (const char* p = text; (p = strstr(p, ".entry ")); p++) {
        const char *open = strchr(p, '('), *close = open ? strchr(open, ')') : nullptr;
        if (!close) return false;
        auto& sizes = module.entries[std::string(p + 7, open)];
        for (const char* q = open; (q = strstr(q, ".param .")) && q < close; q += 8)
            sizes.push_back(!strncmp(q + 9, "64", 2) ? 8 : !strncmp(q + 9, "32", 2) ? 4 : 0);
    }
    return !module.entries.empty();
}
}  // namespace
#define GUARD std::lock_guard<std::recursive_mutex> guard(mutex)

long live_handles;
bool complain(const char* format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "[standin] ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return false;
}
long setting(const char* name, long otherwise) {
    const char* value = getenv(name);
    return value && *value ? atol(value) : otherwise;
}
char* on_host(Address address, size_t bytes) {
    auto it = memory.upper_bound(address);
    if (it == memory.begin()) return nullptr;
    --it;
    return address - it->first + bytes <= it->second.bytes ? (char*)(address & ~TAG) : nullptr;
}
int enqueue(void* stream, std::function<int()> work) {
    GUARD;
    if (sticky) return sticky;
    Stream& to = at(stream);
    if (to.recording) to.recorded.push_back({std::move(work), false});
    else to.queue.push_back({std::move(work), false});
    return OK;
}
bool may_record(void* stream, const void* code) {
    GUARD;
    if (!at(stream).recording) return loaded.insert(code), true;
    if (loaded.count(code)) return true;
    return at(stream).spoilt = true, complain("code is used for the first time while a stream records");
}

// For the tests: what is still alive, and how much was done.
extern "C" __attribute__((visibility("default"))) long standin_live() {
    GUARD;
    drain_all();
    return memory.size() + streams.size() + contexts + modules + live_handles + graphs;
}
extern "C" __attribute__((visibility("default"))) long standin_allocations() { return allocations; }
extern "C" __attribute__((visibility("default"))) long standin_launches() { return launches; }
extern "C" __attribute__((visibility("default"))) long standin_replays() { return replays; }
extern "C" __attribute__((visibility("default"))) long standin_refusals() { return refusals; }
// The most memory that was in use since the last question.
extern "C" __attribute__((visibility("default"))) long standin_peak() {
    GUARD;
    drain_all();
    long most = peak;
    return peak = in_use, most;
}
namespace {
struct Goodbye {
    ~Goodbye() {
        if (setting("STANDIN_REPORT", 0)) complain("alive at the end: %ld, allocations: %ld", standin_live(), allocations);
    }
} goodbye;
}  // namespace

API cuInit(unsigned) { return setting("STANDIN_NO_DEVICE", 0) ? NO_DEVICE : OK; }
API cuDeviceGetCount(int* n) { return *n = 1, OK; }
API cuDeviceGet(int* device, int ordinal) { return *device = 0, ordinal ? INVALID : OK; }
API cuDeviceGetName(char* name, int length, int) { return snprintf(name, length, "stand-in"), OK; }
API cuDeviceGetAttribute(int* value, int which, int) {
    *value = which == 75 ? 8 : which == 76 ? 6 : which == 115 ? setting("STANDIN_POOLS", 1) : 0;
    return OK;
}
API cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = setting("STANDIN_MEMORY", 1 << 30), OK; }
API cuMemGetInfo_v2(size_t* free, size_t* total) {
    *total = setting("STANDIN_MEMORY", 1 << 30);
    // A driver may promise more than it holds: fragmentation, other programs.
    *free = setting("STANDIN_PROMISED", *total - in_use);
    return OK;
}
API cuDevicePrimaryCtxRetain(void** context, int) { return *context = (void*)0x100, contexts++, OK; }
API cuDevicePrimaryCtxRelease_v2(int) { return contexts--, OK; }
static thread_local void* bound;
API cuCtxGetCurrent(void** context) { return *context = bound, OK; }
API cuCtxSetCurrent(void* context) { return bound = context, OK; }
API cuCtxSynchronize() {
    GUARD;
    return spoils("waiting") ? (int)NOT_RECORDABLE : (drain_all(), sticky);
}
API cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR", OK; }
API cuGetErrorString(int, const char** text) { return *text = "an error", OK; }

API cuMemAlloc_v2(Address* out, size_t bytes) {
    GUARD;
    return sticky ? sticky : spoils("allocating") ? (int)NOT_RECORDABLE : allocate(out, bytes);
}
API cuMemAllocAsync(Address* out, size_t bytes, void*) { return cuMemAlloc_v2(out, bytes); }
API cuMemFree_v2(Address address) {
    GUARD;
    spoils("freeing");
    return drain_all(), release(address);
}
API cuMemFreeAsync(Address address, void* stream) {
    GUARD;
    spoils("freeing");
    at(stream).queue.push_back({[=] { return release(address); }, true});
    return sticky;
}
API cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* stream) {
    GUARD;
    if (!bytes) return OK;
    if (spoils("an upload")) return NOT_RECORDABLE;
    std::string staged((const char*)from, bytes);  // pageable memory is read before the call returns
    return enqueue(stream, [=] {
        char* host = on_host(to, bytes);
        return host ? (memcpy(host, staged.data(), bytes), OK) : outside("upload");
    });
}
API cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* stream) {
    GUARD;
    if (spoils("a download")) return NOT_RECORDABLE;
    int failed = enqueue(stream, [=] {
        char* host = on_host(from, bytes);
        return host ? (memcpy(to, host, bytes), OK) : outside("download");
    });
    drain(at(stream));
    return failed ? failed : sticky;
}
API cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
    return enqueue(stream, [=] {
        char *target = on_host(to, bytes), *source = on_host(from, bytes);
        return target && source ? (memcpy(target, source, bytes), OK) : outside("copy");
    });
}
API cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void* stream) {
    return enqueue(stream, [=] {
        char* host = on_host(to, bytes);
        return host ? (memset(host, value, bytes), OK) : outside("memset");
    });
}

API cuStreamCreate(void** stream, unsigned) {
    GUARD;
    return *stream = *streams.insert(new Stream).first, OK;
}
API cuStreamDestroy_v2(void* stream) {
    GUARD;
    drain(at(stream));
    return streams.erase((Stream*)stream) ? (delete (Stream*)stream, OK) : INVALID;
}
API cuStreamSynchronize(void* stream) {
    GUARD;
    return spoils("waiting") ? (int)NOT_RECORDABLE : (drain(at(stream)), sticky);
}

API cuStreamBeginCapture_v2(void* stream, int) {
    GUARD;
    Stream& s = at(stream);
    if (!stream || s.recording) return NOT_RECORDABLE;
    return s.recording = true, s.spoilt = false, s.recorded.clear(), OK;
}
API cuStreamEndCapture(void* stream, void** graph) {
    GUARD;
    Stream& s = at(stream);
    if (!s.recording) return INVALID;
    s.recording = false;
    *graph = nullptr;
    if (s.spoilt) return RECORDING_SPOILT;
    return *graph = new Graph{s.recorded}, graphs++, OK;
}
API cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long) {
    if (setting("STANDIN_NO_GRAPH", 0)) return NOT_SUPPORTED;
    return *ready = new Graph(*(Graph*)graph), graphs++, OK;
}
API cuGraphLaunch(void* ready, void* stream) {
    GUARD;
    if (sticky) return sticky;
    replays++;
    for (auto& work : ((Graph*)ready)->work) at(stream).queue.push_back(work);
    return OK;
}
API cuGraphExecDestroy(void* ready) { return delete (Graph*)ready, graphs--, OK; }
API cuGraphDestroy(void* graph) { return delete (Graph*)graph, graphs--, OK; }

API cuModuleLoadData(void** module, const void* image) {
    auto* loaded = new Module;
    if (!parse((const char*)image, *loaded)) return delete loaded, BAD_IMAGE;
    return *module = loaded, modules++, OK;
}
API cuModuleUnload(void* module) { return delete (Module*)module, modules--, OK; }
API cuModuleGetFunction(void** function, void* module, const char* name) {
    auto& m = *(Module*)module;
    auto entry = m.entries.find(name);
    if (entry == m.entries.end()) return NOT_FOUND;
    for (const Twin& twin : twins()) {
        if (strcmp(twin.name, name)) continue;
        if (twin.sizes != entry->second) return complain("%s: kernels.cu and kernels.ptx differ", name), BAD_IMAGE;
        m.functions[name] = {&twin};
        return *function = &m.functions[name], OK;
    }
    return NOT_FOUND;
}
API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned, void* stream, void** parameters, void**) {
    GUARD;
    const Twin* twin = ((Function*)function)->twin;
    if (!gx || !gy || gz != 1 || !bx || by != 1 || bz != 1 || gy > 65535 || gx > 0x7fffffff || bx > 1024)
        return complain("%s: launch of (%u, %u, %u) blocks of (%u, %u, %u)", twin->name, gx, gy, gz, bx, by, bz), INVALID;
    if (!may_record(stream, twin)) return NOT_RECORDABLE;
    std::vector<std::string> bytes;  // parameters are read at the launch
    for (size_t i = 0; i < twin->sizes.size(); i++) bytes.emplace_back((const char*)parameters[i], twin->sizes[i]);
    bool fails = launches++ == setting("STANDIN_FAIL_LAUNCH", -1);
    return enqueue(stream, [=] {
        if (fails) return (int)LAUNCH;
        if (!twin->bind(bytes)) return complain("%s: a pointer is no device memory", twin->name), (int)ILLEGAL;
        return run_kernel(*twin, {gx, gy, 1}, {bx, 1, 1});
    });
}
