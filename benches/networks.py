"""An epoch of the two tensor networks in PyTorch, on the layers and sizes of our bench `networks`, as JSON lines on stdout.

usage: networks.py [THREADS [MODEL-RANK ...]]     e.g. networks.py 1 tensor-train-5 tucker-10
Ten thousand samples of 20 x 20 -> 10 x 10, batches of 16, f32, fused Adam. Each layer is timed in two forms, the better one counts:
`contract` takes a batch through the parts (two matrix products for the tensor train), `dense` forms the weights W in each step.
The time is the least of several epochs: CPU time of the process at one thread, wall time at more."""
import json, os, sys, time

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
cases = sys.argv[2:] or [f'{m}-{r}' for m in ('tensor-train', 'tucker') for r in (5, 10, 20)]
os.environ['OMP_NUM_THREADS'] = os.environ['MKL_NUM_THREADS'] = str(threads)
import torch

torch.set_num_threads(threads)
clock = time.process_time if threads == 1 else time.perf_counter
budget = float(os.environ.get('BUDGET', 3))
l, p, q, batch = 10000, 20, 10, 16
torch.manual_seed(0)
g = torch.randn(l, p, p)
x = g.transpose(1, 2) @ g
x /= x.square().mean().sqrt()
truth = torch.randn(5, q, p) / p
y = torch.einsum('rki,bij,rlj->bkl', truth, x, truth)
y /= y.square().mean().sqrt()


def parameters(*shapes):
    return [(0.2 * torch.randn(s)).requires_grad_() for s in shapes]


def tensor_train(r, form):
    a, b = parameters((q, p * r), (p, r * q))  # a[k, (i, r)], b[j, (r, l)]

    def contract(x):
        return a @ (x @ b).view(-1, p * r, q)

    def dense(x):
        cores = a.view(q, p, r).permute(1, 0, 2).reshape(p * q, r) @ b.view(p, r, q).permute(1, 0, 2).reshape(r, p * q)
        w = cores.view(p, q, p, q).permute(0, 2, 1, 3).reshape(p * p, q * q)
        return (x.reshape(-1, p * p) @ w).view(-1, q, q)
    return [a, b], contract if form == 'contract' else dense


def tucker(r, form):
    m, n = min(r, p), min(r, q)
    s, u1, u2, u3, u4 = theta = parameters((m * m, n * n), (p, m), (p, m), (q, n), (q, n))

    def contract(x):
        h = (u1.T @ (x @ u2)).view(-1, m * m) @ s
        return u3 @ (h.view(-1, n, n) @ u4.T)

    def dense(x):
        w = torch.kron(u1, u2) @ s @ torch.kron(u3, u4).T
        return (x.reshape(-1, p * p) @ w).view(-1, q, q)
    return theta, contract if form == 'contract' else dense


def epoch_of(layer, theta):
    adam = torch.optim.Adam(theta, lr=1e-3, fused=True)

    def epoch():
        for rows in torch.randperm(l).split(batch):
            adam.zero_grad()
            (layer(x[rows]) - y[rows]).square().mean().backward()
            adam.step()
    return epoch


for case in cases:
    model, rank = case.rsplit('-', 1)
    best = {}
    for form in ('contract', 'dense'):
        theta, layer = {'tensor-train': tensor_train, 'tucker': tucker}[model](int(rank), form)
        epoch, times, begun = epoch_of(layer, theta), [], time.perf_counter()
        while len(times) < 3 or time.perf_counter() - begun < budget:
            at = clock()
            epoch()
            times.append(1e3 * (clock() - at))
        best[form] = min(times[1:])
    form = min(best, key=best.get)
    print(json.dumps(dict(group='networks', case=f'{model.replace("-", " ")}, rank {rank}', who='PyTorch', threads=threads,
                          milliseconds=best[form], form=form, forms=best)), flush=True)
