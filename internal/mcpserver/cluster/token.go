// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// audiences are those of a token: one or a list of them, by RFC 7519.
type audiences []string

func (a *audiences) UnmarshalJSON(content []byte) error {
	var one string
	if json.Unmarshal(content, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(content, (*[]string)(a))
}

// glance returns why a token cannot be one for the audience. It looks at what the token says of itself and proves nothing: the API server looks at the
// others. It keeps that from being asked about just anything.
func glance(token, audience string, now time.Time) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("it is not the token of a ServiceAccount")
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return errors.New("it is not the token of a ServiceAccount")
	}
	var claims struct {
		Audience audiences `json:"aud"`
		Subject  string    `json:"sub"`
		Expires  float64   `json:"exp"`
	}
	switch err := json.Unmarshal(content, &claims); {
	case err != nil || !strings.HasPrefix(claims.Subject, serviceAccounts):
		return errors.New("it is not of a ServiceAccount")
	case !slices.Contains(claims.Audience, audience):
		return fmt.Errorf("it is not for the audience %s", audience)
	case claims.Expires != 0 && claims.Expires < float64(now.Add(-time.Minute).Unix()):
		return errors.New("it is no longer valid")
	}
	return nil
}
