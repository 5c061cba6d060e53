// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// The loop does not depend on the API and writes the reasons of an outage, which become those of a condition. Both must use the same words:
// programs read the condition by the constants of the API.
func TestTheLoopHasTheReasonsOfTheAPI(t *testing.T) {
	t.Parallel()
	for ofAPI, ofLoop := range map[string]string{
		v1alpha1.ReasonPartial:                 motorloop.ReasonPartial,
		v1alpha1.ReasonFailed:                  motorloop.ReasonFailed,
		v1alpha1.ReasonNotFinished:             motorloop.ReasonNotFinished,
		v1alpha1.ReasonAcceptanceFailed:        motorloop.ReasonAcceptanceFailed,
		v1alpha1.ReasonModelUnauthorized:       motorloop.ReasonModelUnauthorized,
		v1alpha1.ReasonModelQuotaExceeded:      motorloop.ReasonModelQuota,
		v1alpha1.ReasonModelNotFound:           motorloop.ReasonModelNotFound,
		v1alpha1.ReasonModelCertificateInvalid: motorloop.ReasonModelCertificate,
		v1alpha1.ReasonModelAddressRefused:     motorloop.ReasonModelAddress,
		v1alpha1.ReasonModelRateLimited:        motorloop.ReasonModelRateLimited,
		v1alpha1.ReasonModelUnavailable:        motorloop.ReasonModelUnavailable,
		v1alpha1.ReasonModelTimeout:            motorloop.ReasonModelTimeout,
		v1alpha1.ReasonModelMalformedAnswer:    motorloop.ReasonModelMalformed,
	} {
		if ofAPI != ofLoop {
			t.Errorf("the loop says %s, and the API %s", ofLoop, ofAPI)
		}
	}
}
