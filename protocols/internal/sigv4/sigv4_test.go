package sigv4

import (
	"cmp"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// The vectors are those of AWS: the first ones are of its Signature Version 4 test suite, the last ones are
// examples of the Amazon S3 API Reference ("Authenticating Requests: Using the Authorization Header"). Those
// in between are what botocore 1.29 signs.
func TestSignaturesOfTheTestSuite(t *testing.T) {
	t.Parallel()
	suite := Key{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	s3 := Key{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	service, store := Scope{"aws", "amz", "us-east-1", "service"}, Scope{"aws", "amz", "us-east-1", "s3"}
	const host, bucket = "example.amazonaws.com", "examplebucket.s3.amazonaws.com"
	for name, tt := range map[string]struct {
		scope     Scope
		key       Key
		at        string
		r         Request
		fields    map[string]string
		signature string
	}{
		"get-vanilla": {service, suite, "20150830T123600Z", Request{Method: "GET", Host: host, Path: "/"}, nil,
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"get-vanilla-query-order-key-case": {service, suite, "20150830T123600Z",
			Request{Method: "GET", Host: host, Path: "/", Query: "Param2=value2&Param1=value1"}, nil,
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"post-vanilla": {service, suite, "20150830T123600Z", Request{Method: "POST", Host: host}, nil,
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"post-x-www-form-urlencoded": {service, suite, "20150830T123600Z",
			Request{Method: "POST", Host: host, Path: "/", Payload: "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"},
			map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		"a key": {store, suite, "20150830T123600Z",
			Request{Method: "GET", Host: "b.s3.us-east-1.amazonaws.com", Path: "/a%20b/%c3%A9%2B!'()*~"}, nil,
			"c07c8e90b46411c7c145a3ea9a298718bf08886ecc035a814faa97e6c7d84123"},
		"a key with dots": {store, suite, "20150830T123600Z",
			Request{Method: "GET", Host: "b.s3.us-east-1.amazonaws.com", Path: "/a//../b"}, nil,
			"bcfc6891d7f00a7efa98a7cc18c7c0a8ea34e543a7631f40883ab3a6d67e193b"},
		"an encoded path": {service, suite, "20150830T123600Z", Request{Method: "GET", Host: host, Path: "/a%20b/c"}, nil,
			"38716947ba65b7b62d1fac41d2244cf69dad6f76e6fa83456331ce9315514e6f"},
		"names that begin alike": {service, suite, "20150830T123600Z",
			Request{Method: "GET", Host: host, Path: "/", Query: "a-b=1&a=2&a=1&A=%2f"}, nil,
			"aa66d215498a83c14749fccfa88d32c482e323cdc62998bdde2bc2e5f4d936ee"},
		"a token": {service, Key{suite.ID, suite.Secret, "TOKEN"}, "20150830T123600Z", Request{Method: "GET", Host: host, Path: "/"}, nil,
			"564660f640e535dfb2d7d90e91b97b91515c30bfedf0a5ff2564c9e5352e9f12"},
		"fields": {store, suite, "20150830T123600Z", Request{Method: "PUT", Host: "b.s3.us-east-1.amazonaws.com", Path: "/k"},
			map[string]string{"Content-Type": "text/plain", "X-Amz-Meta-A": "a  b", "Accept": "*/*"},
			"b02da26482e64760b33939d5e7b433a062275137e7675cb5f13925197b1c0202"},
		"fields whose names begin alike": {service, suite, "20150830T123600Z", Request{Method: "GET", Host: host, Path: "/"},
			map[string]string{"X-Amz-Server-Side-Encryption-Customer-Key-Md5": "b", "X-Amz-Server-Side-Encryption-Customer-Key": "a"},
			"cee668281c019b72981178e5d4d496f64f5bf17991017731dd53050ae0c6c6cd"},
		"s3 list": {store, s3, "20130524T000000Z",
			Request{Method: "GET", Host: bucket, Path: "/", Query: "max-keys=2&prefix=J"}, nil,
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
		"s3 lifecycle": {store, s3, "20130524T000000Z",
			Request{Method: "GET", Host: bucket, Path: "/", Query: "lifecycle"}, nil,
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
	} {
		at, err := time.Parse("20060102T150405Z", tt.at)
		if err != nil {
			t.Fatal(err)
		}
		tt.r.Header, tt.r.Payload = textproto.MIMEHeader{}, cmp.Or(tt.r.Payload, Empty)
		for name, value := range tt.fields {
			tt.r.Header.Set(name, value)
		}
		tt.scope.Sign(tt.r, tt.key, at)
		if got := tt.r.Header.Get("Authorization"); !strings.HasSuffix(got, ", Signature="+tt.signature) {
			t.Errorf("%s: %s, want the signature %s", name, got, tt.signature)
		}
	}
}

func TestScopesOfOptionAndHost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, host string
		want       Scope // zero for an error
	}{
		{"aws:amz:us-east-1:s3", "h", Scope{"aws", "amz", "us-east-1", "s3"}},
		{"AWS:AMZ", "s3.eu-west-1.amazonaws.com", Scope{"aws", "amz", "eu-west-1", "s3"}},
		{"aws:amz:us-east-2", "iam.amazonaws.com", Scope{"aws", "amz", "us-east-2", "iam"}},
		{"osc", "fcu.eu-west-2.outscale.com", Scope{"osc", "osc", "eu-west-2", "fcu"}},
		{"aws::us-east-1:s3", "h", Scope{"aws", "aws", "us-east-1", "s3"}},
		{"", "s3.eu-west-1.amazonaws.com", Scope{}},
		{":amz", "s3.eu-west-1.amazonaws.com", Scope{}},
		{"aws:amz", "localhost", Scope{}},
		{"aws:amz", "a.b", Scope{}},
		{"aws:amz", "192.0.2.1", Scope{}},
		{"aws:amz::s3", "s3.eu-west-1.amazonaws.com", Scope{}},
		{"aws:amz:a:b:c", "h", Scope{}},
		{"aws:amz:a\r\nX:b", "h", Scope{}},
		{"aws:amz:a/b:s3", "h", Scope{}},
	} {
		s, err := Parse(tt.text)
		if err == nil {
			s, err = s.At(tt.host)
		}
		if err != nil {
			s = Scope{}
		}
		if s != tt.want || (err == nil) != (tt.want != Scope{}) {
			t.Errorf("%q at %s: %+v, %v; want %+v", tt.text, tt.host, s, err, tt.want)
		}
	}
}
