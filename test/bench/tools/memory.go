// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// memory is that of one container, in bytes.
type memory struct {
	// working is what the kubelet counts against the container's limit and cannot take back; anonymous is the part of it that is in no file.
	working, anonymous float64
}

// summary is the part of the kubelet's summary that is read here.
type summary struct {
	Pods []struct {
		PodRef struct {
			UID string `json:"uid"`
		} `json:"podRef"`
		Containers []struct {
			Name   string `json:"name"`
			Memory struct {
				Time            time.Time `json:"time"`
				WorkingSetBytes float64   `json:"workingSetBytes"`
				RSSBytes        float64   `json:"rssBytes"`
			} `json:"memory"`
		} `json:"containers"`
	} `json:"pods"`
}

// of returns the memory of a Pod's tool server, if the kubelet has measured it after that moment. The container of the tool server is none of
// pause: that one holds the Pod's namespaces, and every Pod has it.
func (s *summary) of(podUID string, after time.Time) (memory, bool) {
	for _, pod := range s.Pods {
		if pod.PodRef.UID != podUID {
			continue
		}
		for _, c := range pod.Containers {
			if c.Name == container && c.Memory.WorkingSetBytes > 0 && c.Memory.Time.After(after) {
				return memory{c.Memory.WorkingSetBytes, c.Memory.RSSBytes}, true
			}
		}
	}
	return memory{}, false
}

// idleMemory returns the memory of the tool server of each run, measured by its kubelet after all of them have come to wait.
func (b *bench) idleMemory(ctx context.Context, runs []*v1alpha1.MotorRun) ([]memory, error) {
	waiting := time.Now()
	nodes := map[string]string{}
	for _, run := range runs {
		var pod corev1.Pod
		if err := b.client.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: run.Status.Sandbox.PodName}, &pod); err != nil {
			return nil, fmt.Errorf("read a sandbox: %w", err)
		}
		nodes[string(pod.UID)] = pod.Spec.NodeName
	}
	found := map[string]memory{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		for uid, node := range nodes {
			if _, ok := found[uid]; ok {
				continue
			}
			s, err := b.summaryOf(ctx, node)
			if err != nil {
				return nil, err
			}
			if m, ok := s.of(uid, waiting); ok {
				found[uid] = m
			}
		}
		if len(found) == len(nodes) {
			return slices.Collect(maps.Values(found)), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the kubelet has measured %d of %d sandboxes: %w", len(found), len(nodes), context.Cause(ctx))
		}
	}
}

func (b *bench) summaryOf(ctx context.Context, node string) (*summary, error) {
	content, err := b.nodes.Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's summary of %s: %w", node, err)
	}
	var s summary
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("the kubelet's summary of %s: %w", node, err)
	}
	return &s, nil
}
