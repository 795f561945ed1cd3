package httpauth

import (
	"reflect"
	"testing"
)

func TestChallenges(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	tests := []struct {
		in   []string
		want []Challenge
	}{
		{nil, nil},
		{[]string{`Basic realm="simple"`}, []Challenge{{"basic", params{"realm": "simple"}}}},
		// RFC 9110, section 11.6.1.
		{[]string{`Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\""`},
			[]Challenge{{"basic", params{"realm": "simple"}}, {"newauth", params{"realm": "apps", "type": "1", "title": `Login to "apps"`}}}},
		{[]string{"Negotiate", "NTLM"}, []Challenge{{"negotiate", params{}}, {"ntlm", params{}}}},
		{[]string{"Negotiate YI+/==, Basic realm=x"}, []Challenge{{"negotiate", params{}}, {"basic", params{"realm": "x"}}}},
		{[]string{"Negotiate, Basic REALM = x"}, []Challenge{{"negotiate", params{}}, {"basic", params{"realm": "x"}}}},
		{[]string{`Digest qop="auth,auth-int",nonce="a, b",,stale=FALSE`},
			[]Challenge{{"digest", params{"qop": "auth,auth-int", "nonce": "a, b", "stale": "FALSE"}}}},
		{[]string{`Basic realm="never closed, Digest nonce=x`}, []Challenge{{"basic", params{}}}},
		{[]string{`Basic realm="\`}, []Challenge{{"basic", params{}}}},
		{[]string{`"quoted"`, ",,", " "}, nil},
	}
	for _, tt := range tests {
		if got := Challenges(tt.in); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %+v, want %+v", tt.in, got, tt.want)
		}
	}
}
