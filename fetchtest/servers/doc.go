// Package servers is the base of the test servers below it. It starts and stops them, logs their
// commands, and makes them fail on request.
//
// Each package below is a small server for the tests of clients, as net/http/httptest is for HTTP:
// csod, dictd, ftpd, geminid, gopherd, imapd, nexd, nfsd, nntpd, popd, prosperod, queryd (finger
// and whois), rsyncd, sftpd, smbd, spartand, telnetd, tftpd, waisd and z3950d. All listen on a port
// of the loopback interface and are used in the same way:
//
//	s := ftpd.Start(t, ftpd.Options{Tree: os.DirFS("testdata")}) // closed when the test ends
//	get(s.URL + "/readme.txt")                                   // the client under test
//	s.Log()                                                      // the commands that it sent
//
// Outside of tests, New starts the same server and returns an error, and Close stops it.
//
// # Faults
//
// Fail makes the next reply with content fail, such as a file, an article or a listing. Arm also
// selects the command whose reply fails, the offset in the content, and the number of failures.
//
//	s.Fail(servers.Cut)
//	s.Arm(servers.Failure{Fault: servers.Drip, On: servers.Greeting, Every: time.Second})
//	s.Arm(servers.Failure{Fault: servers.Stall, On: "RETR", After: 1000, Times: -1})
//
// # Other protocols
//
// Start and New start a server for a protocol without a package here. It logs and fails like the
// others if it uses Conn.ReadLine, Conn.Reply and Conn.Content. Certificate returns the
// configuration for servers with TLS.
package servers
