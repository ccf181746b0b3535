/* Events, and graphs by stream capture. */
#include "base/text.h"
#include "device/cuda/private.h"
#include <stdlib.h>

struct device_event {
    CUevent handle;
};
struct device_graph {
    CUgraph graph;
    CUgraphExec executable;
};

bool cuda_event(struct device *dev, struct device_event **event, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    CUevent handle;
    if (!cuda_check(s, s->api->cuEventCreate(&handle, CU_EVENT_DEFAULT), "making an event", err))
        return false;
    *event = xcalloc(1, sizeof **event);
    (*event)->handle = handle;
    return true;
}

void cuda_event_free(struct device *dev, struct device_event *event)
{
    cuda_state(dev)->api->cuEventDestroy(event->handle);
    free(event);
}

bool cuda_record(struct device *dev, struct device_event *event, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    return cuda_check(s, s->api->cuEventRecord(event->handle, s->stream), "recording an event", err);
}

bool cuda_elapsed(struct device *dev, struct device_event *from, struct device_event *to, double *ns, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    float ms = 0;
    if (!cuda_check(s, s->api->cuEventElapsedTime(&ms, from->handle, to->handle), "reading the time", err))
        return false;
    *ns = (double)ms * 1e6;
    return true;
}

bool cuda_graph_begin(struct device *dev, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    s->capturing = cuda_check(s, s->api->cuStreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED), "beginning a graph", err);
    return s->capturing;
}

bool cuda_graph_end(struct device *dev, struct device_graph **graph, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    struct device_graph g = {0};
    s->capturing = false;
    bool ok = cuda_check(s, s->api->cuStreamEndCapture(s->stream, &g.graph), "ending a graph", err) &&
              cuda_check(s, s->api->cuGraphInstantiate(&g.executable, g.graph, 0), "instantiating a graph", err) &&
              cuda_check(s, s->api->cuGraphUpload(g.executable, s->stream), "uploading a graph", err);
    if (!ok) {
        if (g.executable)
            s->api->cuGraphExecDestroy(g.executable);
        if (g.graph)
            s->api->cuGraphDestroy(g.graph);
        return false;
    }
    *graph = xcalloc(1, sizeof **graph);
    **graph = g;
    return true;
}

bool cuda_graph_launch(struct device *dev, struct device_graph *graph, struct error *err)
{
    struct cuda_state *s = cuda_state(dev);
    cuda_threads_ran(s, s->threads.caught);
    return cuda_check(s, s->api->cuGraphLaunch(graph->executable, s->stream), "launching a graph", err);
}

static bool has_slot(struct cuda_state *s, CUgraphNode node)
{
    CUgraphNodeType type;
    CUDA_MEMSET_NODE_PARAMS fill;
    if (s->api->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return false;
    if (type == CU_GRAPH_NODE_TYPE_MEMSET)
        return s->api->cuGraphMemsetNodeGetParams(node, &fill) == CUDA_SUCCESS &&
               cuda_fill_has_slot(fill.width * fill.elementSize * fill.height);
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY;
}

int cuda_graph_launches(struct device *dev, const struct device_graph *graph)
{
    struct cuda_state *s = cuda_state(dev);
    size_t count = 0;
    int launches = 0;
    if (s->api->cuGraphGetNodes(graph->graph, NULL, &count) != CUDA_SUCCESS)
        return 0;
    CUgraphNode *nodes = xcalloc(count + 1, sizeof *nodes);
    s->api->cuGraphGetNodes(graph->graph, nodes, &count);
    for (size_t i = 0; i < count; i++)
        launches += has_slot(s, nodes[i]);
    free(nodes);
    return launches;
}

void cuda_graph_free(struct device *dev, struct device_graph *graph)
{
    struct cuda_state *s = cuda_state(dev);
    s->api->cuGraphExecDestroy(graph->executable);
    s->api->cuGraphDestroy(graph->graph);
    free(graph);
}
