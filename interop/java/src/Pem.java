import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import org.bouncycastle.util.io.pem.PemObject;
import org.bouncycastle.util.io.pem.PemReader;
import org.bouncycastle.util.io.pem.PemWriter;

/** One block of RFC 7468. */
final class Pem {
    static String write(String label, byte[] der) throws IOException {
        var text = new StringWriter();
        try (var writer = new PemWriter(text)) {
            writer.writeObject(new PemObject(label, der));
        }
        return text.toString();
    }

    static byte[] read(String text) throws IOException {
        try (var reader = new PemReader(new StringReader(text))) {
            return reader.readPemObject().getContent();
        }
    }

    private Pem() {}
}
