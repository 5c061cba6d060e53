// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// writes returns how many requests that change something for claims the API server has answered since it began.
func (b *Bench) writes(ctx context.Context) (float64, error) {
	content, err := b.Metrics(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	return countWrites(content)
}

// countWrites counts the writes of claims, Sandboxes and pools, and those of Pods but for their status and their node, which the kubelet and the
// scheduler write of every Pod. Events are not counted.
func countWrites(content []byte) (sum float64, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(content))
	if err != nil {
		return 0, fmt.Errorf("parse the metrics of the API server: %w", err)
	}
	family := families["apiserver_request_total"]
	if family == nil {
		return 0, errors.New("the API server counts no requests")
	}
	for _, m := range family.GetMetric() {
		label := map[string]string{}
		for _, l := range m.GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		switch label["verb"] {
		case "POST", "PUT", "PATCH", "APPLY", "DELETE":
		default:
			continue
		}
		switch label["resource"] {
		case "pods":
			if label["subresource"] != "" {
				continue
			}
		case "sandboxes", "sandboxclaims", "sandboxwarmpools", "services", "networkpolicies":
		default:
			continue
		}
		sum += m.GetCounter().GetValue()
	}
	return sum, nil
}
