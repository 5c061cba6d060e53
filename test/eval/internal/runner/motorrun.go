// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

const (
	group = "motorcortex.dev/v1alpha1"
	// asideModel is asked for what belongs to no run, such as advice about an attempt that failed.
	asideModel = "aside"
	// endpointSecret has the token of the endpoint, and no key of a model.
	endpointSecret = "endpoint"
	// idleTimeoutSeconds is longer than a reader may take who plays the model.
	idleTimeoutSeconds = 150
)

// motorRun is what of a MotorRun is read.
type motorRun struct {
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string } `json:"conditions"`
		Steps      int                                              `json:"steps"`
		Pending    []pendingInput                                   `json:"pendingInputs"`
		Sandbox    *struct{ PodName string }                        `json:"sandbox"`
		Result     *result                                          `json:"result"`
	} `json:"status"`
}

type pendingInput struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Domain   string   `json:"domain"`
	Action   *struct {
		Tool       string `json:"tool"`
		Arguments  string `json:"arguments"`
		ArgsDigest string `json:"argsDigest"`
		Reason     string `json:"reason"`
	} `json:"action"`
}

type result struct {
	Summary   string          `json:"summary"`
	Value     json.RawMessage `json:"value"`
	Artifacts []struct{ Path, ConfigMapName, Skipped, Message string }
	Skills    struct {
		Created, Updated []struct{ Name, RevisionName string }
	} `json:"skills"`
}

// condition returns status and reason of a condition; both are empty if there is none.
func (r motorRun) condition(name string) (status, reason string) {
	for _, c := range r.Status.Conditions {
		if c.Type == name {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

func (r motorRun) finished() bool {
	status, _ := r.condition("Finished")
	return status == "True"
}

// question is the pending input as the persona reads it.
func (p pendingInput) question() task.Question {
	parts := []string{p.Question}
	if len(p.Options) > 0 {
		parts = append(parts, "Options: "+strings.Join(p.Options, " | "))
	}
	if p.Domain != "" {
		parts = append(parts, "Domain: "+p.Domain)
	}
	if p.Action != nil {
		parts = append(parts, p.Action.Tool+" "+p.Action.Arguments, p.Action.Reason)
	}
	return task.Question{Kind: p.Kind, Text: strings.TrimSpace(strings.Join(parts, "\n"))}
}

// response is the entry of spec.responses that replies to a pending input.
func response(p pendingInput, reply task.Question) cluster.Object {
	r := cluster.Object{"id": p.ID}
	if reply.Decision == "" {
		r["answer"] = reply.Answer
		return r
	}
	r["decision"] = reply.Decision
	if p.Action != nil {
		r["digest"] = p.Action.ArgsDigest
	}
	return r
}

// namespaceObject lets the evaluation look into the sandboxes of its own namespace, to see what was done there.
func namespaceObject(name string) cluster.Object {
	return cluster.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": cluster.Object{"name": name, "labels": cluster.Object{
		"pod-security.kubernetes.io/enforce": "restricted", "motorcortex.dev/sandbox-exec": "allowed", "app.kubernetes.io/part-of": "motorcortex-eval",
	}}}
}

// cortexObjects have the runs of the namespace ask the endpoint, with its token.
func cortexObjects(url, token string, parallel int) []cluster.Object {
	model := cluster.Object{"model": asideModel, "baseURL": url, "idleTimeoutSeconds": idleTimeoutSeconds, "apiKeySecretRef": cluster.Object{"name": endpointSecret, "key": "token"}}
	return []cluster.Object{
		{"apiVersion": "v1", "kind": "Secret", "metadata": cluster.Object{"name": endpointSecret}, "stringData": cluster.Object{"token": token}},
		{"apiVersion": group, "kind": "MotorCortex", "metadata": cluster.Object{"name": "default"}, "spec": cluster.Object{
			"models": cluster.Object{"default": model}, "concurrency": cluster.Object{"maxActive": parallel + 1},
		}},
	}
}

// runObjects are the objects of a task, in the order in which they are made.
func runObjects(t *task.Task, model string, seconds int) []cluster.Object {
	data := cluster.Object{}
	var files []any
	for i, path := range t.Files.Paths() {
		key := fmt.Sprintf("f%03d", i)
		data[key] = base64.StdEncoding.EncodeToString(t.Files[path])
		files = append(files, cluster.Object{"path": path, "configMapKeyRef": cluster.Object{"name": t.Name, "key": key}})
	}
	spec := cluster.Object{
		"task": t.Instruction, "tools": t.Tools, "maxAttempts": 1, "model": cluster.Object{"name": model},
		"limits": cluster.Object{"maxIterations": t.Turns, "activeDeadlineSeconds": seconds},
	}
	var all []cluster.Object
	if len(files) > 0 {
		spec["files"] = files
		all = append(all, cluster.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": cluster.Object{"name": t.Name}, "binaryData": data})
	}
	if len(t.Approval) > 0 {
		spec["approval"] = t.Approval
	}
	if t.Skill != "" {
		var source []any
		for _, path := range t.SkillFiles.Paths() {
			source = append(source, cluster.Object{"path": path, "content": string(t.SkillFiles[path])})
		}
		spec["skillRef"] = cluster.Object{"name": t.Skill}
		all = append(all, cluster.Object{"apiVersion": group, "kind": "Skill", "metadata": cluster.Object{"name": t.Skill},
			"spec": cluster.Object{"source": cluster.Object{"files": source}}})
	}
	return append(all, cluster.Object{"apiVersion": group, "kind": "MotorRun", "metadata": cluster.Object{"name": t.Name}, "spec": spec})
}
