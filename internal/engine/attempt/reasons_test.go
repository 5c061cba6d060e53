// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// The loop does not depend on the API and writes the reasons of an outage, which become those of a condition. Both must use the same words:
// programs read the condition by the constants of the API.
func TestTheLoopHasTheReasonsOfTheAPI(t *testing.T) {
	t.Parallel()
	for ofAPI, ofLoop := range map[string]string{
		v1alpha1.ReasonPartial:                 outcome.ReasonPartial,
		v1alpha1.ReasonFailed:                  outcome.ReasonFailed,
		v1alpha1.ReasonNotFinished:             outcome.ReasonNotFinished,
		v1alpha1.ReasonAcceptanceFailed:        outcome.ReasonAcceptanceFailed,
		v1alpha1.ReasonModelUnauthorized:       outcome.ReasonModelUnauthorized,
		v1alpha1.ReasonModelQuotaExceeded:      outcome.ReasonModelQuota,
		v1alpha1.ReasonModelNotFound:           outcome.ReasonModelNotFound,
		v1alpha1.ReasonModelCertificateInvalid: outcome.ReasonModelCertificate,
		v1alpha1.ReasonModelAddressRefused:     outcome.ReasonModelAddress,
		v1alpha1.ReasonModelRateLimited:        outcome.ReasonModelRateLimited,
		v1alpha1.ReasonModelUnavailable:        outcome.ReasonModelUnavailable,
		v1alpha1.ReasonModelTimeout:            outcome.ReasonModelTimeout,
		v1alpha1.ReasonModelMalformedAnswer:    outcome.ReasonModelMalformed,
	} {
		if ofAPI != ofLoop {
			t.Errorf("the loop says %s, and the API %s", ofLoop, ofAPI)
		}
	}
}
