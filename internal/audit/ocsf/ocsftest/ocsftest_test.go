// SPDX-License-Identifier: Apache-2.0

package ocsftest

import (
	"strings"
	"testing"
)

const whole = `{"activity_id":1,"category_uid":4,"class_uid":4001,"type_uid":400101,"severity_id":1,"time":1,` +
	`"metadata":{"version":"1.6.0","product":{"name":"p"}},"src_endpoint":{"ip":"10.0.0.1"}}`

// A check that finds nothing wrong with wrong lines would let the audit write them.
func TestWrongLinesAreFound(t *testing.T) {
	t.Parallel()
	if err := Check([]byte(whole)); err != nil {
		t.Errorf("a right line: %v", err)
	}
	for name, tt := range map[string]struct{ from, to, says string }{
		"no JSON":                       {"{", "", "read the line"},
		"an unknown class":              {"4001,", "9999,", "no class"},
		"another type":                  {"400101", "400102", "type_uid"},
		"another category":              {`uid":4,`, `uid":6,`, "category_uid"},
		"another version":               {"1.6.0", "1.5.0", "metadata.version"},
		"an unknown activity":           {`activity_id":1`, `activity_id":42`, "activity_id"},
		"no time":                       {`"time":1,`, "", "time is required"},
		"no product":                    {`,"product":{"name":"p"}`, "", "metadata.product is required"},
		"an unknown attribute":          {`"time":1`, `"time":1,"run":"r"`, "run is not of the schema"},
		"an attribute of a profile":     {`"time":1`, `"time":1,"action_id":1`, "action_id is not of the schema"},
		"a text for a number":           {`"time":1`, `"time":"1"`, "time is 1"},
		"an empty text":                 {`"10.0.0.1"`, `""`, "src_endpoint.ip"},
		"an endpoint that is not named": {`{"ip":"10.0.0.1"}`, `{"port":1}`, "src_endpoint has none of"},
		"no endpoint":                   {`,"src_endpoint":{"ip":"10.0.0.1"}`, "", "has none of"},
	} {
		line := strings.Replace(whole, tt.from, tt.to, 1)
		if err := Check([]byte(line)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
