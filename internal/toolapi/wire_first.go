// SPDX-License-Identifier: Apache-2.0

package toolapi

import "strings"

// first are the features of v0.1.0, whose tool servers do not list them. It never changes.
const first = `
GET: /v1/artifacts /v1/calls/ /v1/files/ /v1/hello /v1/skills
POST: /v1/calls/ /v1/probe /v1/skills
PUT: /v1/calls/ /v1/egress /v1/files/ /v1/mcp
Call: arguments id idempotencyKey maxOutputBytes tool
EgressRequest: ca environment proxy timeoutMs token
MCPRequest: servers timeoutMs
MCPServer: authorization command name tools url
ProbeRequest: targets timeoutMs
ProbeTarget: address name network
bash: background command idempotencyKey timeoutSeconds
code: language source timeoutSeconds
edit: newText oldText path replaceAll
fetch: body bodyFile headers idempotencyKey method raw saveTo timeoutSeconds url
glob: path pattern
grep: context glob ignoreCase literal output path pattern
install: apt aptKeyring aptSource caBundle npm npmRegistry pip pipIndex
list: path recursive
oneshot: language source timeoutMs
patch: patch
read: limit offset path
save_artifact: path
write: append content path
`

func firstFeatures() []string {
	var all []string
	for line := range strings.Lines(strings.TrimSpace(first)) {
		of, names, _ := strings.Cut(line, ": ")
		for name := range strings.FieldsSeq(names) {
			separator := "."
			if strings.HasPrefix(name, "/") {
				separator = " "
			}
			all = append(all, of+separator+name)
		}
	}
	return all
}
