// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	// defaultTimeout is that of the specification for one request.
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
	// maxPairs bounds the headers, and the attributes of the resource.
	maxPairs = 64
	// tracesPath is the path of the signal below the endpoint of all signals.
	tracesPath = "v1/traces"
)

// Config is what the environment says about the collector, by the names of the specification of OpenTelemetry.
type Config struct {
	// URL that spans are posted to, "" if none are exported.
	URL string
	// Headers of each request. Their values can be keys.
	Headers map[string]secret.Value
	// Timeout of a request.
	Timeout time.Duration
	// Gzip compresses the requests.
	Gzip bool
	// TLS has the authorities and the certificate of the client, nil for the usual ones.
	TLS *tls.Config
	// Service is the name of the service, and Attributes are further ones of what emits the spans.
	Service    string
	Attributes map[string]string
}

// FromEnvironment reads the configuration. get returns the value of a variable, "" if it is unset. Its error names the variable, and never a value.
func FromEnvironment(get func(string) string) (*Config, error) {
	of := func(name string) string {
		if v := strings.TrimSpace(get("OTEL_EXPORTER_OTLP_TRACES_" + name)); v != "" {
			return v
		}
		return strings.TrimSpace(get("OTEL_EXPORTER_OTLP_" + name))
	}
	c := &Config{Timeout: defaultTimeout, Service: strings.TrimSpace(get("OTEL_SERVICE_NAME"))}
	off, err := disabled(get)
	if err != nil || off {
		return c, err
	}
	if c.URL, err = endpoint(strings.TrimSpace(get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")), strings.TrimSpace(get("OTEL_EXPORTER_OTLP_ENDPOINT"))); err != nil || c.URL == "" {
		return c, err
	}
	if p := of("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: the manager speaks http/protobuf, which collectors take on port 4318", p)
	}
	switch compression := of("COMPRESSION"); compression {
	case "gzip":
		c.Gzip = true
	case "", "none":
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION is %q: it must be gzip or none", compression)
	}
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if c.Timeout = time.Duration(ms) * time.Millisecond; err != nil || c.Timeout <= 0 || c.Timeout > maxTimeout {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q: it must be a number of milliseconds, at most a minute", text)
		}
	}
	headers, err := pairs(of("HEADERS"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	if c.Headers, err = headersOf(headers); err != nil {
		return nil, err
	}
	if c.Attributes, err = attributesOf(get("OTEL_RESOURCE_ATTRIBUTES"), c.Service); err != nil {
		return nil, err
	}
	if c.Service == "" {
		c.Service = c.Attributes["service.name"]
	}
	c.TLS, err = tlsOf(of("CERTIFICATE"), of("CLIENT_CERTIFICATE"), of("CLIENT_KEY"))
	return c, err
}

// disabled reports whether traces are turned off whatever the endpoint is.
func disabled(get func(string) string) (bool, error) {
	if strings.EqualFold(strings.TrimSpace(get("OTEL_SDK_DISABLED")), "true") {
		return true, nil
	}
	switch exporter := strings.TrimSpace(get("OTEL_TRACES_EXPORTER")); exporter {
	case "none":
		return true, nil
	case "", "otlp":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: it must be otlp or none", exporter)
	}
}

// attributesOf returns the attributes of the resource. Of them and the name of the service, what OTLP cannot have is an error: every request would be
// refused.
func attributesOf(list, service string) (map[string]string, error) {
	attributes, err := pairs(list)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if !utf8.ValidString(service) {
		return nil, errors.New("OTEL_SERVICE_NAME is no UTF-8")
	}
	for name, value := range attributes {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES has a name or value that is no UTF-8")
		}
	}
	return attributes, nil
}

// headersOf checks headers, and hides their values.
func headersOf(all map[string]string) (map[string]secret.Value, error) {
	hidden := map[string]secret.Value{}
	for name, value := range all {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Type", "Content-Encoding", "Content-Length", "Host", "Transfer-Encoding":
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS has %s, which the manager sets itself", name)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS has a header whose name or value cannot be sent")
		}
		hidden[name] = secret.New(value)
	}
	return hidden, nil
}

// endpoint returns the URL for traces: that of its own as it is, or the path of traces below that of all signals.
func endpoint(traces, all string) (string, error) {
	name, text := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", all
	}
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		// The error of the parser quotes the text, which may have a password in it.
		return "", fmt.Errorf("%s must be a URL with http or https and a host, as in http://otel-collector.observability:4318, and without a user", name)
	}
	switch {
	case traces == "":
		u = u.JoinPath(tracesPath)
	case u.Path == "":
		u.Path = "/"
	}
	return u.String(), nil
}

// pairs parses name=value pairs that are separated by commas, the values with percent signs as in URLs. Its error never has a value.
func pairs(list string) (map[string]string, error) {
	of := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("entry %d is not name=value, with other characters as %%20", len(of)+1)
		}
		if of[name] = decoded; len(of) > maxPairs {
			return nil, fmt.Errorf("there are more than %d entries", maxPairs)
		}
	}
	return of, nil
}

// tlsOf reads the files of authorities and of the client's certificate.
func tlsOf(authorities, certificate, key string) (*tls.Config, error) {
	if authorities == "" && certificate == "" && key == "" {
		return nil, nil //nolint:nilnil // Nil is the usual configuration of TLS.
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		text, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate in it", authorities)
		}
	}
	if certificate != "" || key != "" {
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
