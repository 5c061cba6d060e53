// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// from reads the configuration of an environment.
func from(env map[string]string) (*Config, error) {
	return FromEnvironment(func(name string) string { return env[name] })
}

func TestEndpointIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		want string
	}{
		"none":                      {nil, ""},
		"of all signals":            {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, "http://collector:4318/v1/traces"},
		"with a path":               {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c.example/otlp/"}, "https://c.example/otlp/v1/traces"},
		"of traces":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/in"}, "http://b/in"},
		"of traces, without a path": {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b:1"}, "http://b:1/"},
		"disabled":                  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "True"}, ""},
		"no traces":                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, ""},
	} {
		if c, err := from(tt.env); err != nil || c.URL != tt.want {
			t.Errorf("%s: %+v, %v, want %s", name, c, err, tt.want)
		}
	}
}

// An error names the variable, and nothing of a value that may be a key.
func TestWrongVariablesAreNamedAndNotShown(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://user:hunter2@c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "-1", "OTEL_EXPORTER_OTLP_HEADERS": "key%zz=hunter2,%zz", "OTEL_RESOURCE_ATTRIBUTES": "=hunter2", "OTEL_TRACES_EXPORTER": "zipkin",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/does/not/exist", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/does/not/exist",
	} {
		env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}
		maps.Copy(env, map[string]string{name: value})
		if _, err := from(env); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	for _, headers := range []string{"content-type=text/plain", "a b=c", "a=b%0d%0ac: d", "a=%01", strings.Repeat("x,", 5)} {
		if _, err := from(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": headers}); err == nil {
			t.Errorf("the headers %q are no error", headers)
		}
	}
	for name, value := range map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "a=%ff", "OTEL_SERVICE_NAME": "\xff"} {
		if _, err := from(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s that is no UTF-8: %v", name, err)
		}
	}
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "a%d=b,", i)
	}
	if _, err := from(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_RESOURCE_ATTRIBUTES": many.String()}); err == nil {
		t.Error("100 attributes are no error")
	}
}

func TestVariablesOfTracesComeFirst(t *testing.T) {
	t.Parallel()
	c, err := from(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=all", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key=of%20traces, x = y",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "1500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_RESOURCE_ATTRIBUTES": "service.name=agents,deployment.environment.name=eu",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Headers["api-key"].RevealText() != "of traces" || c.Headers["x"].RevealText() != "y" || c.Timeout != 1500*time.Millisecond || !c.Gzip ||
		c.Service != "agents" || c.Attributes["deployment.environment.name"] != "eu" {
		t.Errorf("it is %+v", c)
	}
	if text := fmt.Sprintf("%+v", c); strings.Contains(text, "of traces") {
		t.Errorf("a header is printed: %s", text)
	}
}

func TestFileOfAuthoritiesMustHaveOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := from(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c", "OTEL_EXPORTER_OTLP_CERTIFICATE": file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file without a certificate: %v", err)
	}
}
