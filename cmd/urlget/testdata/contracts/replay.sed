# Removes the times, the texts for people and the fields "capture" and "framed_by_close", which later
# versions have.
s/,"capture":\{[^}]*\}//
s/,"framed_by_close":true//
s/"time":"[^"]*"/"time":"T"/
s/"seconds":[0-9.e-]+/"seconds":0/
s/,"message":.*/}/
